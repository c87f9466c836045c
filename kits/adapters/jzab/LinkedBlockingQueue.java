package com.github.zk1931.jzab;

import java.util.concurrent.TimeUnit;

/** In place of java.util.concurrent.LinkedBlockingQueue: who waits for it lets another thread go on; no time passes. */
class LinkedBlockingQueue<E> extends java.util.concurrent.LinkedBlockingQueue<E> {
    private boolean timedOut;

    @Override
    public E take() {
        Turns.pause(() -> !isEmpty());
        return poll();
    }

    @Override
    public E poll(long timeout, TimeUnit unit) {
        Turns.pause(() -> timedOut || !isEmpty());
        return timedOut ? null : poll();
    }

    /** Tells those that wait that their time is over, until it is told that it is not. */
    void timedOut(boolean told) {
        timedOut = told;
    }
}
