package link

// MaxDuration lets tests that see this package as programs do draw from all durations.
const MaxDuration = maxDuration
