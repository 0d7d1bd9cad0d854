//go:build !linux

package socklnd

// nest is nothing on systems other than Linux, where readers do not look again.
type nest struct{}
