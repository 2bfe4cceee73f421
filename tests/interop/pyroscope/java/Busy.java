// SPDX-License-Identifier: Apache-2.0
// A program that is busy for a while; Pyroscope's agent for Java, which its environment sets up, tells where.

import io.pyroscope.labels.v2.LabelsSet;
import io.pyroscope.labels.v2.Pyroscope;

public class Busy {
    static final int ROUNDS = 10_000_000;
    static long counter;

    static void burnMost() {
        for (int i = 0; i < 4 * ROUNDS; i++) counter = counter * 33 + i;
    }

    static void burnRest() {
        for (int i = 0; i < ROUNDS; i++) counter = counter * 33 + i;
    }

    public static void main(String[] args) {
        long millis = (long) (1000 * Double.parseDouble(System.getenv("DEMO_SECONDS")));
        for (long end = System.nanoTime() + millis * 1_000_000; System.nanoTime() < end; ) {
            Pyroscope.LabelsWrapper.run(new LabelsSet("endpoint", "/checkout"), Busy::burnMost);
            burnRest();
        }
    }
}
