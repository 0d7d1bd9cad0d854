// The state of the daemon, and the rates at which its counters grow.

// state has the sections that the server has sent (package page).
export const state = {};

const before = new Map(); // counters by name: {clock, value, used, rate}

// rate returns by how much a counter grows in a second; undefined before two readings.
export function rate(name, value) {
  const now = state.now.clock_ms;
  const last = before.get(name);
  if (last === undefined || now < last.clock || value < last.value) {
    before.set(name, { clock: now, value, used: now });
    return undefined;
  }
  if (now > last.clock) {
    before.set(name, { clock: now, value, used: now, rate: ((value - last.value) * 1000) / (now - last.clock) });
  }
  return before.get(name).rate;
}

// rateNow returns the rate of a counter when it was last read.
export const rateNow = (name) => before.get(name)?.rate;

// forget removes the counters of objects that are no longer shown.
export function forget() {
  for (const [name, one] of before) if (state.now.clock_ms > one.clock + 10_000) before.delete(name);
}
