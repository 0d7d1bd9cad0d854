//go:build !ibverbs || !cgo || !linux

package ibv

import (
	"errors"

	"ulnet/lnd/verbs"
)

// errNotBuilt is the error of Open in a program that was built without libibverbs.
var errNotBuilt = errors.New("this program was built without libibverbs: install libibverbs-dev, librdmacm-dev and gcc, " +
	"then build it on Linux with CGO_ENABLED=1 and -tags ibverbs")

// Open fails, because this program is built without libibverbs.
func Open(verbs.OpenConfig) (verbs.Device, error) { return nil, errNotBuilt }

var _ verbs.Opener = Open
