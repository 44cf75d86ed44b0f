/*
 * service: tells systemd how `serve` is doing (sd_notify's protocol: a datagram to the socket that
 * $NOTIFY_SOCKET names). Without that variable nothing happens. Beside a helper it is the helper that
 * sends: systemd need not believe anybody else (NotifyAccess=main). One thread.
 */
#ifndef NMTWATCH_SERVE_SERVICE_H
#define NMTWATCH_SERVE_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

void service_ready(void);
void service_reloading(void);
void service_stopping(void);
void service_status(const char *sentence);
/* How often service_alive has to be called, milliseconds; 0: nobody waits for it. */
int64_t service_watchdog_ms(void);
void service_alive(void);

/* For the helper: sends a message of the other process. False: it is none of those above. */
bool service_pass_on(const char *message);

#endif
