// Package faultflags makes drop and delay rules from the words of a command line: those of
// 'lnetctl fault', and of 'lctl net_drop_add' and 'net_delay_add'.
package faultflags

import (
	"fmt"
	"time"

	"ulnet/lnet/faultrule"
	"ulnet/lnet/nid"
)

// Flags are the words of a rule; a word that was not given is empty.
type Flags struct {
	Source, Dest, Local string        // NIDs of the messages to drop, *@NET or *
	Rate                uint32        // drop one message out of this number
	Interval, Latency   time.Duration // Interval: drop or delay one message in each interval of this length; Latency: how long to delay a message
	Portals             []string      // numbers of portals; an element may have several
	Types               []string      // types of messages; an element may have several
	Errors              []string      // names of failures; an element may have several
	Random, All         bool          // Random: drop messages at random instead of each Rate-th; All: drop every message
}

// Attr returns the rule. Errors begin with the name of lnetctl's option.
func (f *Flags) Attr() (a faultrule.Attr, err error) {
	a = faultrule.Attr{Rate: f.Rate, Interval: f.Interval, Latency: f.Latency, Random: f.Random, All: f.All}
	if a.Source, a.Dest, err = f.NIDs(nid.NID{}); err == nil {
		a.Local, err = parseNID("local_nid", f.Local, nid.NID{})
	}
	if err != nil {
		return a, err
	}
	for _, p := range f.Portals {
		more, err := faultrule.ParsePortals(p)
		if a.Portals |= more; err != nil {
			return a, fmt.Errorf("--portal: invalid portal: %w", err)
		}
	}
	for _, t := range f.Types {
		more, err := faultrule.ParseTypes(t)
		if a.Types |= more; err != nil {
			return a, fmt.Errorf("--message: unknown message type: %w", err)
		}
	}
	for _, e := range f.Errors {
		more, err := faultrule.ParseClasses(e)
		if a.Classes |= more; err != nil {
			return a, fmt.Errorf("--health_error: %w", err)
		}
	}
	return a, nil
}

// NIDs returns the NIDs of source and destination, or the given NID for one that is absent. Errors begin with the
// name of lnetctl's option.
func (f *Flags) NIDs(absent nid.NID) (source, dest nid.NID, err error) {
	if source, err = parseNID("source", f.Source, absent); err == nil {
		dest, err = parseNID("dest", f.Dest, absent)
	}
	return source, dest, err
}

func parseNID(flag, text string, absent nid.NID) (nid.NID, error) {
	if text == "" {
		return absent, nil
	}
	id, err := faultrule.ParseNID(text)
	if err != nil {
		err = fmt.Errorf("--%s: %w", flag, err)
	}
	return id, err
}
