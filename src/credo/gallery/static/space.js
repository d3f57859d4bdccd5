// The server's account of the parameters in the form that the page's pure modules use. Pure.

/** Whole range in `low`, `high`; the narrowed one in `now`; all choices in `choices`, those allowed in `allowed`. */
export function described(entry) {
  const value = entry.fixed ?? entry.value ?? null;
  const whole = entry.full ?? { low: entry.low, high: entry.high };
  return {
    name: entry.name,
    label: entry.label,
    type: entry.type,
    log: Boolean(entry.log),
    conditional: Boolean(entry.conditional),
    low: whole.low,
    high: whole.high,
    now: entry.now ?? [entry.low ?? whole.low, entry.high ?? whole.high],
    choices: entry.all ?? entry.choices ?? (entry.type === "boolean" ? [false, true] : []),
    allowed: entry.choices ?? [],
    value,
  };
}
