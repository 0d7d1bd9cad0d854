package faultrule

import (
	"cmp"
	"fmt"
	"math"
	"syscall"
	"time"

	"ulnet/lnd"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Kind says what a rule does to the messages that it hits.
type Kind uint8

// Kinds of rules.
const (
	Drop  Kind = iota // the rule discards messages that arrive, or fails messages that are sent
	Delay             // the rule delays messages
	kinds             // number of kinds; not a kind
)

// String returns the kind's name: "drop" or "delay".
func (k Kind) String() string {
	if k < kinds {
		return [kinds]string{"drop", "delay"}[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// MarshalText returns the text of String.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText parses the text of String.
func (k *Kind) UnmarshalText(b []byte) error {
	for *k = Drop; *k < kinds; *k++ {
		if k.String() == string(b) {
			return nil
		}
	}
	return fmt.Errorf("%q is no kind of rule: want drop or delay", b)
}

// Attr are the attributes of a rule (struct lnet_fault_attr).
//
// A NID here is one NID, the wildcard ([nid.Any]), or 255.255.255.255@net for all NIDs of
// that net.
type Attr struct {
	Source nid.NID `json:"source"` // source NID in the header; required
	Dest   nid.NID `json:"dest"`   // destination NID in the header; required
	// Local is the NID of the NI by which the message arrives or leaves. Zero: any. For
	// drop rules alone.
	Local   nid.NID `json:"local_nid,omitzero"`
	Portals Portals `json:"portals"` // portals of PUTs and GETs; if there are any, the rule is about PUTs and GETs alone
	Types   Types   `json:"types"`   // types of the messages

	Rate     uint32        `json:"rate"`         // one message in each Rate messages is hit; 0: there is an Interval
	Interval time.Duration `json:"interval"`     // one message in each Interval of whole seconds is hit; 0: there is a Rate
	Random   bool          `json:"random"`       // drop rules: each message is hit with probability 1/2
	All      bool          `json:"drop_all"`     // for drop rules: every message is dropped
	Classes  Classes       `json:"health_error"` // drop rules: what a message fails with when it is sent; empty: it is discarded on arrival
	Latency  time.Duration `json:"latency"`      // for delay rules: how long a message waits
}

// longest bounds intervals and latencies (__u32 of struct lnet_fault_attr).
const longest = math.MaxUint32 * time.Second

// Validate returns what is wrong with the attributes of a rule of that kind. It wraps EINVAL.
func (a *Attr) Validate(k Kind) error {
	wrong := a.invalid(k)
	if wrong == "" {
		return nil
	}
	return fmt.Errorf("%s: %w", wrong, syscall.EINVAL)
}

// invalid returns a sentence that says what is wrong, or nothing. The first two sentences are
// those of the kernel's tools.
func (a *Attr) invalid(k Kind) string {
	switch {
	case !a.Source.IsValid() || !a.Dest.IsValid():
		return fmt.Sprintf("please provide both source and destination of %v rule", k)
	case (a.Rate != 0) == (a.Interval != 0):
		return fmt.Sprintf("please provide either %v rate or interval but not both at the same time", k)
	case a.Interval < 0 || a.Interval > longest || a.Interval%time.Second != 0:
		return fmt.Sprintf("interval %v: want whole seconds", a.Interval)
	case a.Portals != 0 && a.types() == 0:
		return "portals belong to PUT and GET, and the rule is about other messages"
	case a.Classes&^anyClass != 0:
		return fmt.Sprintf("health errors %#x: want classes from 1 to %d", uint16(a.Classes), lnd.NumFailures-1)
	}
	if k == Delay {
		return a.invalidDelay()
	}
	if a.Latency != 0 {
		return "a drop rule has no latency"
	}
	return ""
}

func (a *Attr) invalidDelay() string {
	switch {
	case a.Latency == 0:
		return "latency cannot be zero"
	case a.Latency < 0 || a.Latency > longest:
		return fmt.Sprintf("latency %v: want up to %v", a.Latency, longest)
	case a.Local.IsValid() || a.Classes != 0 || a.Random || a.All:
		return "local NID, health error, random and drop all are for drop rules"
	}
	return ""
}

// types are the message types that the rule is about: with portals, PUT and GET alone
// (lnet_fault_attr_validate).
func (a *Attr) types() Types {
	t := cmp.Or(a.Types, allTypes)
	if a.Portals != 0 {
		t &= 1<<wire.Put | 1<<wire.Get
	}
	return t
}

// matches reports whether the rule is about a message that passes an NI
// (lnet_fault_attr_match).
func (a *Attr) matches(h *wire.Header, local nid.NID) bool {
	return h.Type <= wire.Reply && a.types().Has(h.Type) &&
		covers(a.Source, h.SrcNID) && covers(a.Dest, h.DestNID) &&
		(!a.Local.IsValid() || covers(a.Local, local)) && a.Portals.Has(h)
}

// covers reports whether a NID of a rule stands for id (lnet_fault_nid_match).
func covers(of, id nid.NID) bool {
	return of == id || of.IsAny() || of == wholeNet(of.Net()) && of.Net() == id.Net()
}

// wholeNet is the NID that stands for all NIDs of a net in a rule: 255.255.255.255@net.
func wholeNet(n nid.Net) nid.NID { return nid.FromNumber(n, math.MaxUint32) }
