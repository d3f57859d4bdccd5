// The little that the modules' tests need to say what they expect.

export function equal(got, wanted) {
  const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
  if (a !== b) throw new Error(`got ${a}, not ${b}`);
}

export function close(got, wanted, within) {
  if (!(Math.abs(got - wanted) <= within)) throw new Error(`got ${got}, not ${wanted} ± ${within}`);
}

export function holds(truth, what) {
  if (!truth) throw new Error(what);
}
