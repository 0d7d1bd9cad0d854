//go:build !linux

package socklnd

import "net"

type iovec struct{}

// newRawStream returns nil: elsewhere every connection is a plainStream.
func newRawStream(net.Conn, *polling) stream { return nil }
