// Numbers as people read them.
export const grouped = new Intl.NumberFormat("en");
export const count = (n) => grouped.format(n);
export function scaled(n, units) {
  let i = 0;
  for (; n >= 999.5 && i < units.length - 1; i++) n /= 1000;
  return `${n >= 99.5 || i === 0 ? Math.round(n) : n.toPrecision(n >= 9.95 ? 3 : 2)} ${units[i]}`;
}
export const bytes = (n) => scaled(n, ["B", "kB", "MB", "GB", "TB", "PB"]);
export const perSecond = (n) => (n === undefined ? "–" : scaled(n, ["/s", "k/s", "M/s", "G/s"]));
export const bytesPerSecond = (n) => (n === undefined ? "–" : `${bytes(n)}/s`);
export const clock = (text) => new Date(text).toLocaleTimeString("en-GB");
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
