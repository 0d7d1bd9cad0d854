package socklnd

import (
	"errors"

	"ulnet/lnd/socklnd/ksock"
)

// Versions of the protocol, and what is done about those that are not spoken
// here: 1, of very old nodes, without message headers; and 4, with extended
// NIDs, for IPv6.
//
//	version  HELLO that arrives          answer NONE to our HELLO
//	1        refused: NONE in ours       the peer cannot be reached
//	2, 3     spoken                      adopted, dialled again at once
//	4        refused: NONE in ours       the peer cannot be reached
//	other    refused: NONE in ours       protocol error
//
// A kernel that is refused so adopts our version.

// errForeignVersion means a HELLO of a version that exists but is not spoken
// here.
var errForeignVersion = errors.New("socklnd: HELLO version is not supported")

// spoken reports whether connections of version v are supported.
func spoken(v ksock.Version) bool { return v == ksock.V2 || v == ksock.V3 }

// preferred is the version in which a peer of unknown version is dialled. An
// ANY connection is of use in version 2 only.
func (ni *NI) preferred() ksock.Version {
	if ni.cfg.Untyped {
		return ksock.V2
	}
	return ksock.V3
}

// versionRefusal is the answer to a HELLO of a version that is not spoken:
// ours, and NONE. It names our own NID as destination, as kernels do.
func (ni *NI) versionRefusal() []byte {
	h := ni.hello(ni.preferred(), ksock.None)
	h.DstNID = ni.nid
	b, _ := h.AppendBinary(nil) // our NID fits: Startup saw to it
	return b
}
