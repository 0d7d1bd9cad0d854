//go:build !linux

package socklnd

// pollSet is empty on systems other than Linux, where readers do not busy-poll.
type pollSet struct{}
