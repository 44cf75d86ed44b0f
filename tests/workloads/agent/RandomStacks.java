/**
 * Stacks, of 40 frames unless told, that are hardly ever the same: each method calls any of eight, from one of four
 * lines. Works for a moment where a stack ends.
 *
 * <pre>RandomStacks ROUNDS [THREADS [FRAMES]]</pre>
 */
public final class RandomStacks {
    private static volatile long sink;

    abstract static class Step {
        abstract long run(int depth, long state);
    }

    private static final Step[] STEPS = {new S0(), new S1(), new S2(), new S3(), new S4(), new S5(), new S6(), new S7()};

    public static void main(String[] args) throws InterruptedException {
        int rounds = Integer.parseInt(args[0]);
        Thread[] threads = new Thread[args.length > 1 ? Integer.parseInt(args[1]) : 2];
        int depth = (args.length > 2 ? Integer.parseInt(args[2]) : 40) - 2;
        Stage.ready();
        for (int t = 0; t < threads.length; t++) {
            long seed = 1 + t;
            threads[t] = new Thread(() -> {
                long state = seed;
                for (int i = 0; i < rounds; i++) {
                    if (i % 64 == 0) {
                        if (Stage.isThere("enough")) {
                            break;
                        }
                        Stage.rest();
                    }
                    state = next(state + i);
                    sink += STEPS[(int) (state >>> 61)].run(depth, state);
                }
            }, "random-" + t);
            threads[t].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        Stage.result(1);
    }

    static long next(long state) {
        long mixed = (state + 0x9E3779B97F4A7C15L) * 0xBF58476D1CE4E5B9L;
        return mixed ^ mixed >>> 31;
    }

    static Step choose(long state) {
        return STEPS[(int) (state >>> 61)];
    }

    static long burn(long state) {
        for (int i = 0; i < 20_000; i++) {
            state = next(state);
        }
        return state;
    }

    static final class S0 extends Step {
        @Override
        long run(int depth, long state) {
            long on = next(state);
            if (depth == 0) {
                return burn(on);
            }
            switch ((int) on & 3) {
                case 0:
                    return choose(on).run(depth - 1, on) + 1;
                case 1:
                    return choose(on).run(depth - 1, on) - 2;
                case 2:
                    return choose(on).run(depth - 1, on) ^ 3;
                default:
                    return ~choose(on).run(depth - 1, on);
            }
        }
    }

    static final class S1 extends Step {
        @Override
        long run(int depth, long state) {
            long on = next(state);
            if (depth == 0) {
                return burn(on);
            }
            switch ((int) on & 3) {
                case 0:
                    return choose(on).run(depth - 1, on) + 2;
                case 1:
                    return choose(on).run(depth - 1, on) - 3;
                case 2:
                    return choose(on).run(depth - 1, on) ^ 4;
                default:
                    return ~choose(on).run(depth - 1, on);
            }
        }
    }

    static final class S2 extends Step {
        @Override
        long run(int depth, long state) {
            long on = next(state);
            if (depth == 0) {
                return burn(on);
            }
            switch ((int) on & 3) {
                case 0:
                    return choose(on).run(depth - 1, on) + 3;
                case 1:
                    return choose(on).run(depth - 1, on) - 4;
                case 2:
                    return choose(on).run(depth - 1, on) ^ 5;
                default:
                    return ~choose(on).run(depth - 1, on);
            }
        }
    }

    static final class S3 extends Step {
        @Override
        long run(int depth, long state) {
            long on = next(state);
            if (depth == 0) {
                return burn(on);
            }
            switch ((int) on & 3) {
                case 0:
                    return choose(on).run(depth - 1, on) + 4;
                case 1:
                    return choose(on).run(depth - 1, on) - 5;
                case 2:
                    return choose(on).run(depth - 1, on) ^ 6;
                default:
                    return ~choose(on).run(depth - 1, on);
            }
        }
    }

    static final class S4 extends Step {
        @Override
        long run(int depth, long state) {
            long on = next(state);
            if (depth == 0) {
                return burn(on);
            }
            switch ((int) on & 3) {
                case 0:
                    return choose(on).run(depth - 1, on) + 5;
                case 1:
                    return choose(on).run(depth - 1, on) - 6;
                case 2:
                    return choose(on).run(depth - 1, on) ^ 7;
                default:
                    return ~choose(on).run(depth - 1, on);
            }
        }
    }

    static final class S5 extends Step {
        @Override
        long run(int depth, long state) {
            long on = next(state);
            if (depth == 0) {
                return burn(on);
            }
            switch ((int) on & 3) {
                case 0:
                    return choose(on).run(depth - 1, on) + 6;
                case 1:
                    return choose(on).run(depth - 1, on) - 7;
                case 2:
                    return choose(on).run(depth - 1, on) ^ 8;
                default:
                    return ~choose(on).run(depth - 1, on);
            }
        }
    }

    static final class S6 extends Step {
        @Override
        long run(int depth, long state) {
            long on = next(state);
            if (depth == 0) {
                return burn(on);
            }
            switch ((int) on & 3) {
                case 0:
                    return choose(on).run(depth - 1, on) + 7;
                case 1:
                    return choose(on).run(depth - 1, on) - 8;
                case 2:
                    return choose(on).run(depth - 1, on) ^ 9;
                default:
                    return ~choose(on).run(depth - 1, on);
            }
        }
    }

    static final class S7 extends Step {
        @Override
        long run(int depth, long state) {
            long on = next(state);
            if (depth == 0) {
                return burn(on);
            }
            switch ((int) on & 3) {
                case 0:
                    return choose(on).run(depth - 1, on) + 8;
                case 1:
                    return choose(on).run(depth - 1, on) - 9;
                case 2:
                    return choose(on).run(depth - 1, on) ^ 10;
                default:
                    return ~choose(on).run(depth - 1, on);
            }
        }
    }
}
