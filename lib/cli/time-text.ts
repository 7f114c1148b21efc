/** Seconds from the run's zero: `+  12.3 s`, from ten minutes on `+ 25m 03s`. */
export function timeText(seconds: number): string {
  return `+ ${spanText(seconds).padStart(7)}`;
}

export function spanText(seconds: number): string {
  if (seconds < 600) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const hours = Math.floor(whole / 3_600);
  const minutes = Math.floor((whole % 3_600) / 60);
  const rest = `${minutes}m ${String(whole % 60).padStart(2, "0")}s`;
  return hours === 0 ? rest : `${hours}h${rest.replace(" ", "")}`;
}
