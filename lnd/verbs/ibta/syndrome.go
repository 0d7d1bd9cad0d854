package ibta

import (
	"fmt"
	"time"
)

// Syndrome is the kind of answer in an AETH.
type Syndrome uint8

// The answers. An ACK is any from 0 to AckUnlimited; it also carries end-to-end credits,
// which ulnet ignores, because o2iblnd has credits of its own. RNRNak is to be joined with a
// timer code.
const (
	AckUnlimited  Syndrome = 0x1F
	RNRNak        Syndrome = 0x20
	NakSequence   Syndrome = 0x60 // a packet is missing: go on at the PSN of the NAK
	NakInvalid    Syndrome = 0x61 // invalid request
	NakAccess     Syndrome = 0x62 // remote access error
	NakOperation  Syndrome = 0x63 // remote operational error
	syndromeKinds          = 0xE0
)

// IsAck reports whether s is a positive acknowledgement.
func (s Syndrome) IsAck() bool { return s&syndromeKinds == 0 }

// IsRNR reports whether s says that the receiver is not ready.
func (s Syndrome) IsRNR() bool { return s&syndromeKinds == RNRNak }

// IsNak reports whether s is a NAK, but not an RNR NAK.
func (s Syndrome) IsNak() bool { return s&syndromeKinds == NakSequence }

// Credits returns the number of posted receives that an ACK reports; false if it reports
// none, as with AckUnlimited and all syndromes other than ACKs.
func (s Syndrome) Credits() (int, bool) {
	if int(s) >= len(creditCodes) {
		return 0, false
	}
	return int(creditCodes[s]), true
}

var creditCodes = [...]uint16{
	0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024,
	1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
}

// RNRDelay returns how long to wait after an RNR NAK.
func (s Syndrome) RNRDelay() time.Duration { return RNRDelay(uint8(s)) }

// RNRDelay returns the delay of RNR timer code 0 to 31; higher bits are ignored.
func RNRDelay(code uint8) time.Duration {
	return time.Duration(rnrDelays[code&31]) * 10 * time.Microsecond
}

// rnrDelays are the delays by code, in units of 10 µs.
var rnrDelays = [32]uint32{
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024,
	1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
}

// String returns "ACK", "RNR NAK 10ms", "NAK sequence error" or "syndrome 0x40".
func (s Syndrome) String() string {
	switch {
	case s.IsAck():
		return "ACK"
	case s.IsRNR():
		return fmt.Sprintf("RNR NAK %v", s.RNRDelay())
	case s.IsNak() && int(s-NakSequence) < len(nakNames):
		return "NAK " + nakNames[s-NakSequence]
	}
	return fmt.Sprintf("syndrome %#02x", uint8(s))
}

var nakNames = [...]string{
	"sequence error", "invalid request", "remote access error", "remote operational error", "invalid RD request",
}

// AckTimeout returns the time of local ACK timeout code 0 to 31: 4.096 µs · 2^code. Code 0
// means never, for which it returns 0.
func AckTimeout(code uint8) time.Duration {
	if code &= 31; code == 0 {
		return 0
	}
	return 4096 * time.Nanosecond << code
}

// CMTimeout returns the time of a CM response or service timeout code 0 to 31, as Linux
// computes it: 4.096 µs · 2^code, rounded to milliseconds.
func CMTimeout(code uint8) time.Duration {
	return time.Millisecond << max(int(code&31)-8, 0)
}
