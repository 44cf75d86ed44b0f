#include "nmtwatch/serve/sparkline.h"

bool sparkline_due(const struct sparkline *spark, int64_t ms)
{
    return ms >= spark->next_ms;
}

static void halve(struct sparkline *spark)
{
    int kept = 0;
    for (int i = 0; i < spark->count; i += 2, kept++) {
        for (int series = 0; series < SPARK_COUNT; series++)
            spark->value[series][kept] = spark->value[series][i];
    }
    spark->count = kept;
    spark->step_ms *= 2;
}

void sparkline_add(struct sparkline *spark, int64_t ms, const float value[SPARK_COUNT])
{
    if (spark->step_ms == 0)
        spark->step_ms = SPARK_FIRST_MS;
    if (spark->count == SPARK_POINTS)
        halve(spark);
    for (int series = 0; series < SPARK_COUNT; series++)
        spark->value[series][spark->count] = value[series];
    spark->count++;
    spark->next_ms = ms + spark->step_ms;
}
