package link

// MaxDuration gives external tests of this package the bound of durations.
const MaxDuration = maxDuration
