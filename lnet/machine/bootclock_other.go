//go:build !linux

package machine

// BootClock returns a [RealClock]: only Linux tells how long it was suspended.
func BootClock() Clock { return RealClock() }
