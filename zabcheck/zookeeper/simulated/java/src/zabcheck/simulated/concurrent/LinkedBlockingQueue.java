package zabcheck.simulated.concurrent;

import java.util.AbstractQueue;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Iterator;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import zabcheck.simulated.schedule.Scheduler;
import zabcheck.simulated.schedule.Waiters;

/** See {@link java.util.concurrent.LinkedBlockingQueue}. */
public class LinkedBlockingQueue<E> extends AbstractQueue<E> implements BlockingQueue<E> {
    private static final long NEVER = -1;

    private final ArrayDeque<E> elements = new ArrayDeque<>();
    private final int capacity;
    private final Waiters takers = new Waiters();
    private final Waiters putters = new Waiters();

    public LinkedBlockingQueue() {
        this(Integer.MAX_VALUE);
    }

    public LinkedBlockingQueue(int capacity) {
        this.capacity = capacity;
    }

    @Override
    public boolean offer(E element) {
        Scheduler.get().point();
        return append(element);
    }

    private boolean append(E element) {
        if (elements.size() >= capacity) {
            return false;
        }
        elements.add(element);
        Scheduler.get().wakeOne(takers);
        return true;
    }

    @Override
    public void put(E element) throws InterruptedException {
        Scheduler.get().point();
        while (!append(element)) {
            Scheduler.get().block(putters, NEVER);
        }
    }

    @Override
    public boolean offer(E element, long timeout, TimeUnit unit) throws InterruptedException {
        Scheduler scheduler = Scheduler.get();
        scheduler.point();
        long deadline = scheduler.now() + unit.toNanos(timeout);
        while (!append(element)) {
            if (scheduler.now() >= deadline) {
                return false;
            }
            scheduler.block(putters, deadline);
        }
        return true;
    }

    @Override
    public E poll() {
        Scheduler.get().point();
        return first();
    }

    private E first() {
        E element = elements.poll();
        if (element != null) {
            Scheduler.get().wakeOne(putters);
        }
        return element;
    }

    @Override
    public E take() throws InterruptedException {
        Scheduler.get().point();
        while (elements.isEmpty()) {
            Scheduler.get().block(takers, NEVER);
        }
        return first();
    }

    @Override
    public E poll(long timeout, TimeUnit unit) throws InterruptedException {
        Scheduler scheduler = Scheduler.get();
        scheduler.point();
        long deadline = scheduler.now() + unit.toNanos(timeout);
        while (elements.isEmpty()) {
            if (scheduler.now() >= deadline) {
                return null;
            }
            scheduler.block(takers, deadline);
        }
        return first();
    }

    @Override
    public E peek() {
        return elements.peek();
    }

    @Override
    public int size() {
        return elements.size();
    }

    @Override
    public int remainingCapacity() {
        return capacity - elements.size();
    }

    @Override
    public int drainTo(Collection<? super E> to) {
        return drainTo(to, Integer.MAX_VALUE);
    }

    @Override
    public int drainTo(Collection<? super E> to, int most) {
        int moved = 0;
        while (moved < most && !elements.isEmpty()) {
            to.add(first());
            moved++;
        }
        return moved;
    }

    @Override
    public boolean remove(Object element) {
        return elements.remove(element);
    }

    @Override
    public void clear() {
        elements.clear();
        Scheduler.get().wakeAll(putters);
    }

    @Override
    public Iterator<E> iterator() {
        return elements.iterator();
    }
}
