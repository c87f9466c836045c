package com.github.zk1931.jzab;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Prints what threads do that take turns. */
final class Try {
    private static final LinkedBlockingQueue<String> questions = new LinkedBlockingQueue<>(), answers = new LinkedBlockingQueue<>();

    public static void main(String[] arguments) {
        Turns turns = Turns.current();
        turns.start(Try::ask, () -> true);
        System.out.println("nobody runs before it is asked to");
        turns.run();
        System.out.println("everybody waits");
        questions.add("again");
        turns.run();
        System.out.println("everybody waits");
        answers.timedOut(true);
        turns.run();
        Turns.reset();
        System.out.println("all are over");
    }

    private static Void ask() throws InterruptedException {
        Future<Void> other = Executors.newSingleThreadExecutor().submit(Try::answer);
        for (String each : new String[] {"one", "two"}) questions.add(each);
        for (String each = answers.poll(1, TimeUnit.DAYS); each != null; each = answers.poll(1, TimeUnit.DAYS)) {
            System.out.println("answered " + each);
        }
        System.out.println("timed out");
        questions.add("throw");
        try {
            other.get();
        } catch (ExecutionException thrown) {
            System.out.println("the other threw " + thrown.getCause().getMessage());
        }
        try {
            questions.take();
        } finally {
            System.out.println("stopped while it waited");
        }
        return null;
    }

    private static Void answer() {
        while (true) {
            String question = questions.take();
            if (question.equals("throw")) throw new IllegalStateException("it");
            System.out.println("asked " + question);
            answers.add(question);
        }
    }
}
