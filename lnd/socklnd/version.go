package socklnd

import (
	"errors"

	"ulnet/lnd/socklnd/ksock"
)

// versions are those of the protocol that an NI speaks: all from lowest to highest. The NI dials a
// peer whose version is unknown in the preferred one.
//
//	NI                      lowest  preferred  highest
//	IPv4                    1       3          4
//	IPv4, typed_conns=0     1       2          4
//	IPv4, protocol=1, 2, 3  1       that       that
//	IPv6                    4       4          4
//
// A HELLO of another version is refused with NONE in the preferred one, which the peer then
// adopts. If a peer answers our HELLO with NONE in another version that we speak, we adopt that
// version and dial again at once; the version is remembered as long as there are connections. A
// NID of IPv6 fits only version 4. An ANY connection is useful only in versions 1 and 2.
type versions struct{ lowest, preferred, highest ksock.Version }

// includes reports whether vs has v.
func (vs versions) includes(v ksock.Version) bool { return vs.lowest <= v && v <= vs.highest }

// versions returns the versions that the NI speaks.
func (ni *NI) versions() versions {
	pinned := ni.cfg.Protocol
	switch {
	case !ni.nid.Is4():
		return versions{ksock.V4, ksock.V4, ksock.V4}
	case pinned != 0:
		return versions{ksock.V1, pinned, pinned}
	case ni.cfg.Untyped:
		return versions{ksock.V1, ksock.V2, ksock.V4}
	}
	return versions{ksock.V1, ksock.V3, ksock.V4}
}

// errForeignVersion means a HELLO of a version that exists but is not spoken
// here.
var errForeignVersion = errors.New("socklnd: HELLO version is not spoken")

// versionRefusal is the answer to a HELLO of a version that is not spoken: the
// preferred one, and NONE. It names our own NID as destination, as kernels do.
func (ni *NI) versionRefusal() []byte {
	h := ni.hello(ni.versions().preferred, ksock.None)
	h.DstNID = ni.nid
	b, _ := h.AppendBinary(nil) // this NI's NID fits, so there is no error
	return b
}
