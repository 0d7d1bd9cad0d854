package wire

import (
	"bytes"

	"ulnet/portals/keyring"
)

// SignedFlag is where the header of a message at a portal says that it is signed.
func SignedFlag(portal int) (at int, bit byte) {
	switch portal {
	case DataPortal:
		return 12, byte(FlagSigned)
	case ControlPortal:
		return 12, controlSigned
	}
	return 7, byte(OrderSigned)
}

// Unsigned returns a message at a portal without the flag and the code that it has if
// it is signed, and whether it is. The message is b, or a copy of it if it is signed.
func Unsigned(portal int, b []byte) (message []byte, signed bool) {
	at, bit := SignedFlag(portal)
	if len(b) < at+1+keyring.CodeSize || b[at]&bit == 0 {
		return b, false
	}
	message = bytes.Clone(b[:len(b)-keyring.CodeSize])
	message[at] &^= bit
	return message, true
}
