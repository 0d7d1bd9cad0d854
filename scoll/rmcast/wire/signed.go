package wire

import (
	"bytes"

	"ulnet/portals/keyring"
)

// SignedFlag is the position of the flag, in the header of messages to a portal, that says
// that the message is signed.
func SignedFlag(portal int) (at int, bit byte) {
	switch portal {
	case DataPortal:
		return 12, byte(FlagSigned)
	case ControlPortal:
		return 12, controlSigned
	}
	return 7, byte(OrderSigned)
}

// Unsigned returns a message to a portal without its flag and authentication code, and whether
// it was signed. The result is b itself, or a copy if the message was signed.
func Unsigned(portal int, b []byte) (message []byte, signed bool) {
	at, bit := SignedFlag(portal)
	if len(b) < at+1+keyring.CodeSize || b[at]&bit == 0 {
		return b, false
	}
	message = bytes.Clone(b[:len(b)-keyring.CodeSize])
	message[at] &^= bit
	return message, true
}
