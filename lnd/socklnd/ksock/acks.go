package ksock

import (
	"fmt"
	"iter"
)

// Keepalive is the cookie that acknowledges nothing: a NOOP with it shows
// that its sender is alive (SOCKNAL_KEEPALIVE_PING). Cookies of requests
// begin at firstCookie.
const (
	Keepalive   uint64 = 1
	firstCookie uint64 = 2
)

// MaxAckRange bounds the cookies that one NOOP may acknowledge. Local policy:
// a peer that honors our credits has far fewer requests outstanding.
const MaxAckRange = 1 << 16

// Acks is the set of cookies that a message header acknowledges. The zero
// value is empty.
type Acks struct {
	first, last uint64 // both 0: there are no cookies
	pair        bool   // first and last are two cookies, not a range
}

// Acks returns what h acknowledges:
//
//	type  cookies       acknowledged
//	LNET  any, 0        nothing
//	LNET  any, c        c
//	NOOP  any, 0        nothing
//	NOOP  0, c          c
//	NOOP  a, b (a > b)  a and b
//	NOOP  a, b (a ≤ b)  every cookie from a to b
//
// where c = 1, or both 1, is a keepalive and acknowledges nothing. errAck
// means a keepalive together with another cookie, or a range of more than
// MaxAckRange (socklnd ksocknal_handle_zcack).
func (h MsgHeader) Acks() (Acks, error) {
	first, last := h.Cookies[0], h.Cookies[1]
	if last == 0 {
		return Acks{}, nil
	}
	if h.Type == LNet || first == 0 {
		first = last
	}
	switch {
	case last == Keepalive && first == Keepalive:
		return Acks{}, nil
	case last == Keepalive:
		return Acks{}, fmt.Errorf("%w: keepalive with cookie %d", errAck, first)
	case first > last:
		return Acks{first: first, last: last, pair: true}, nil
	case last-first >= MaxAckRange:
		return Acks{}, fmt.Errorf("%w: range %d..%d", errAck, first, last)
	}
	return Acks{first: first, last: last}, nil
}

// Len returns the number of cookies, at most MaxAckRange.
func (a Acks) Len() int {
	switch {
	case a == Acks{}:
		return 0
	case a.pair:
		return 2
	}
	return int(a.last-a.first) + 1
}

// Contains reports whether a cookie is in the set.
func (a Acks) Contains(cookie uint64) bool {
	switch {
	case a == Acks{}:
		return false
	case a.pair:
		return cookie == a.first || cookie == a.last
	}
	return a.first <= cookie && cookie <= a.last
}

// All yields the cookies in the order in which they are to be looked up.
func (a Acks) All() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		if a.pair {
			_ = yield(a.first) && yield(a.last)
			return
		}
		for i := range uint64(a.Len()) {
			if !yield(a.first + i) {
				return
			}
		}
	}
}

// IsKeepalive reports whether h is a NOOP that only shows that its sender is alive.
func (h MsgHeader) IsKeepalive() bool {
	return h.Type == Noop && h.Cookies[0] <= Keepalive && h.Cookies[1] == Keepalive
}
