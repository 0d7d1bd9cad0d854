package faultrule

import (
	"fmt"
	"math/bits"
	"strings"

	"ulnet/lnd"
)

// Classes is a set of classes of failure, bit 1<<c for class c.
type Classes uint16

// anyClass is the set of all classes ("random").
const anyClass Classes = 1<<lnd.NumFailures - 1<<lnd.LocalInterrupt

// randomWord is the text of anyClass.
const randomWord = "random"

// String returns the text, such as "local_dropped,remote_error" or "random".
func (s Classes) String() string {
	if s == anyClass {
		return randomWord
	}
	return strings.Join(s.names(), ",")
}

// names are the words of the classes of the set.
func (s Classes) names() (list []string) {
	for c := lnd.LocalInterrupt; c < lnd.NumFailures; c++ {
		if s&(1<<c) != 0 {
			list = append(list, c.String())
		}
	}
	return list
}

// ParseClasses parses the text of String.
func ParseClasses(s string) (Classes, error) {
	var set Classes
next:
	for name := range strings.SplitSeq(s, ",") {
		if name == randomWord {
			set = anyClass
			continue
		}
		for c := lnd.LocalInterrupt; c < lnd.NumFailures; c++ {
			if strings.EqualFold(name, c.String()) {
				set |= 1 << c
				continue next
			}
		}
		return 0, fmt.Errorf("%q is no health error: want %s, %s, or several separated by commas", name, strings.Join(anyClass.names(), ", "), randomWord)
	}
	return set, nil
}

// MarshalText returns the text of String.
func (s Classes) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is ParseClasses; an empty text has no class.
func (s *Classes) UnmarshalText(b []byte) (err error) {
	if len(b) == 0 {
		*s = 0
		return nil
	}
	*s, err = ParseClasses(string(b))
	return err
}

// nth is the class that stands at position i, from 0, among those of the set.
func (s Classes) nth(i int) lnd.Failure {
	for ; i > 0; i-- {
		s &= s - 1
	}
	return lnd.Failure(bits.TrailingZeros16(uint16(s)))
}

// count returns the number of classes in the set.
func (s Classes) count() int { return bits.OnesCount16(uint16(s)) }
