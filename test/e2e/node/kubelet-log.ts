/** The lines of a kubelet's log that tell how a pod ends and its volumes with it. */

const wanted = [
  /shutdown manager|shutting down|shutdown event/iu,
  /[Rr]egister.*[Pp]lugin|[Pp]lugin.*[Rr]egister|DeRegister/u,
  /not found in the list of registered/u,
  /UnmountVolume|UnmountDevice|Volume detached|volumes.*(unmounted|in use)/u,
  /[Pp]re-?[Ss]top/u,
  /Killing (unwanted )?container|Container exited|grace period|failed liveness/u,
  /OOM|exceeded/u,
];
/** Every pod's tokens and config maps are unmounted too. */
const unwanted =
  /kubernetes\.io\/(projected|configmap|secret|empty-dir|host-path)|started for volume|RemoveContainer|grace period override|UnmountDevice\(/u;

/** `I1130 17:00:00.123456   12 file.go:12] text`, in UTC. */
const line = /^([IWEF])(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{3})\d* +\d+ [^\]]+\] (.*)$/u;

/** @returns undefined for a line that tells nothing of it */
export function readKubeletLine(
  text: string,
  now: number = Date.now(),
): { readonly at: number; readonly text: string } | undefined {
  const match = line.exec(text);
  if (match === null) return undefined;
  const [
    ,
    level = "",
    month = "",
    day = "",
    hour = "",
    minute = "",
    second = "",
    milliseconds = "",
    said = "",
  ] = match;
  if (!wanted.some((pattern) => pattern.test(said)) || unwanted.test(said)) return undefined;
  const year = new Date(now).getUTCFullYear(); // the log does not say
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${milliseconds}Z`);
  return { at, text: `${level === "E" ? "ERROR " : ""}${shortened(said)}` };
}

/** Hashes and unique ids of which the beginning tells enough. */
function shortened(text: string): string {
  return text
    .replaceAll(/ ?(podUID|containerID)="[^"]*"/gu, "")
    .replaceAll(/\b([0-9a-f]{8})[0-9a-f]{56}\b/gu, "$1")
    .slice(0, 300);
}
