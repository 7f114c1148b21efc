import { simulatedAwsPorts } from "../../lib/sim/aws-ports.ts";
import { VirtualClock } from "../../lib/sim/clock.ts";
import { describeAwsContract } from "./aws-contract.ts";
import { quickServices } from "./aws-harness.ts";

const START = Date.parse("2026-11-02T09:30:00Z");
const LONG = 24 * 3_600_000;

describeAwsContract("the simulated ports in virtual time", async () => {
  const clock = new VirtualClock(START);
  const services = quickServices(clock);
  return {
    ...services,
    ports: simulatedAwsPorts(services.ec2, services.autoScaling, clock, services.faults),
    run: async (work) => {
      let ended = false;
      const running = clock.actor("test", work).finally(() => {
        ended = true;
      });
      // Its failure is told by the answer; nobody else waits for it meanwhile.
      running.catch(() => undefined);
      await clock.advance(START + LONG, () => ended);
      await running;
    },
    pass: (milliseconds) => clock.sleep(milliseconds),
    close: async () => undefined,
  };
});
