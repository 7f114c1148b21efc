/** The system bus of a real node, with a stand-in logind on it: what the kubelet's graceful node shutdown listens to. */
import { access, writeFile } from "node:fs/promises";
import path from "node:path";
import { buildNodePrograms } from "../build.ts";
import { eventually } from "../eventually.ts";
import type { RealNode } from "./real-node.ts";

/** In the node's own /run. */
const SOCKET = "/run/system_bus_socket";
/** For the kubelet's DBUS_SYSTEM_BUS_ADDRESS. */
export const SYSTEM_BUS_ADDRESS = `unix:path=${SOCKET}`;

export class SystemBus {
  readonly #node: RealNode;
  readonly #logind: string;

  private constructor(node: RealNode, logind: string) {
    this.#node = node;
    this.#logind = logind;
  }

  /** A kubelet that is to delay shutdowns is started afterwards: it looks for the bus once. */
  static async start(node: RealNode): Promise<SystemBus> {
    const programs = await buildNodePrograms((line) => console.error(line));
    const configFile = path.join(node.folder, "system-bus.conf");
    await writeFile(configFile, busConfig);
    const { namespaces, children } = node;
    const args = [`--config-file=${configFile}`, "--nofork", "--nopidfile"];
    children.start(namespaces.enter({ name: "dbus-daemon", program: "dbus-daemon", args }));
    await eventually("the system bus is there", () =>
      access(namespaces.pathOf(SOCKET)).then(
        () => true,
        () => false,
      ),
    );
    const bus = new SystemBus(node, path.join(programs.logind, "logind"));
    children.start(
      namespaces.enter({
        name: "logind",
        program: bus.#logind,
        args: ["serve"],
        env: { DBUS_SYSTEM_BUS_ADDRESS: SYSTEM_BUS_ADDRESS },
      }),
    );
    await bus.said(/logind serves/u);
    return bus;
  }

  /** A line per event, with its time. */
  get logFile(): string {
    return this.#node.children.logFile("logind");
  }

  /** Announces the machine's end, which comes when nobody delays it any more; then `power off` is in the log. */
  async powerOff(): Promise<void> {
    await this.#ask("power-off");
  }

  /** Announces that the machine stays. */
  async callOff(): Promise<void> {
    await this.#ask("call-off");
  }

  /** Waits until a line of logind's log fits. */
  async said(text: RegExp): Promise<void> {
    const { children } = this.#node;
    await eventually(`logind says ${String(text)}`, () => text.test(children.log("logind", 1_000)));
  }

  #ask(what: "power-off" | "call-off"): Promise<string> {
    const variable = `DBUS_SYSTEM_BUS_ADDRESS=${SYSTEM_BUS_ADDRESS}`;
    return this.#node.namespaces.run("env", [variable, this.#logind, what]);
  }
}

/** Everybody on the node may do everything. */
const busConfig = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
  "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>${SYSTEM_BUS_ADDRESS}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
  </policy>
</busconfig>
`;
