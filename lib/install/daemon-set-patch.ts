/** What both ways that change a DaemonSet, not its pods, add to it. The chart's names are needed: lists are merged by them. */
import {
  type InstallWay,
  RESTART_GRACE_SECONDS,
  hookContainer,
  hookLabel,
  knownPlace,
  preStop,
  preStopPath,
} from "./hook-container.ts";
import { CHART, type HookInstall } from "./hook-install.ts";

export interface DaemonSetInstall extends HookInstall {
  /** The DaemonSets' names. */
  readonly daemonSets: readonly string[];
  /** Whether their pods use the node's network. */
  readonly hostNetwork: boolean;
}

export interface PartialDaemonSet {
  readonly apiVersion: "apps/v1";
  readonly kind: "DaemonSet";
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: object;
}

/** @param held whether the driver's container can be given a preStop, in place of its own */
export function daemonSetPatches(
  install: DaemonSetInstall,
  way: InstallWay,
  held: "driver-and-registrar" | "registrar",
): readonly PartialDaemonSet[] {
  const hasDriver = held === "driver-and-registrar";
  const { hostNetwork } = install;
  const place = knownPlace(install, { hostNetwork, hooks: hasDriver ? 3 : 2, volume: CHART.socketVolume });
  const lifecycle = (container: string) => preStop(preStopPath(container), place.probeHost);
  const { driverContainer, registrarContainer } = CHART;
  const driver = {
    name: driverContainer,
    // Two handlers are refused: the driver's own goes.
    lifecycle: withoutExec(lifecycle(driverContainer)),
    livenessProbe: { terminationGracePeriodSeconds: RESTART_GRACE_SECONDS },
  };
  const spec = {
    ...(hasDriver ? { terminationGracePeriodSeconds: install.graceSeconds } : {}),
    containers: [
      ...(hasDriver ? [driver] : []),
      { name: registrarContainer, lifecycle: lifecycle(registrarContainer) },
      hookContainer(install, place),
    ],
  };
  return install.daemonSets.map((name) => ({
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name, namespace: install.namespace },
    spec: { template: { metadata: { labels: hookLabel(way) }, spec } },
  }));
}

function withoutExec({ preStop: handler }: ReturnType<typeof preStop>) {
  return { preStop: { exec: null, ...handler } };
}
