package socklnd

// AcceptMode says whose connections are accepted and whether the identity in
// their HELLO is believed (the lnet tunable accept).
type AcceptMode string

// The accept modes. The first three are the kernel's.
const (
	// AcceptSecure accepts connections from ports up to 1023 only.
	AcceptSecure AcceptMode = "secure"
	// AcceptAll accepts from any port. A peer on a port above 1023 is known
	// by the net of the NI, its IPv4 address, and its port as user-flagged
	// PID, whatever its HELLO claims.
	AcceptAll AcceptMode = "all"
	// AcceptNone means that the driver does not listen.
	AcceptNone AcceptMode = "none"
	// AcceptTrust believes the HELLO from any port. Every program that reaches the
	// port can claim every NID that SourceAddress lets pass.
	AcceptTrust AcceptMode = "trust"
)

// known reports whether m is one of the accept modes, or empty for the default.
func (m AcceptMode) known() bool {
	switch m {
	case "", AcceptSecure, AcceptAll, AcceptNone, AcceptTrust:
		return true
	}
	return false
}

// maxPrivilegedPort is the last port that only the privileged may bind
// (LNET_ACCEPTOR_MAX_RESERVED_PORT).
const maxPrivilegedPort = 1023
