package nid

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// numbers is a set of numbers as it stands in a NID range (cfs_expr_list):
// 7, *, or [1-5,8,10-20/2].
type numbers []span

// span is the numbers lo, lo+step, … up to hi.
type span struct{ lo, hi, step uint32 }

func (n numbers) has(v uint32) bool {
	for _, s := range n {
		if s.lo <= v && v <= s.hi && (v-s.lo)%s.step == 0 {
			return true
		}
	}
	return false
}

// parseNumbers parses a list of numbers, none of which may be above the limit most.
func parseNumbers(s string, most uint32) (numbers, error) {
	if s == "*" {
		return numbers{{0, most, 1}}, nil
	}
	list, bracketed := strings.CutPrefix(s, "[")
	if !bracketed {
		v, err := parseOne(s, most)
		return numbers{{v, v, 1}}, err
	}
	list, closed := strings.CutSuffix(list, "]")
	if !closed {
		return nil, errors.New("want ']'")
	}
	var n numbers
	for part := range strings.SplitSeq(list, ",") {
		r, err := parseSpan(strings.TrimSpace(part), most)
		if err != nil {
			return nil, err
		}
		n = append(n, r)
	}
	return n, nil
}

func parseSpan(s string, most uint32) (r span, err error) {
	bounds, step, stepped := strings.Cut(s, "/")
	lo, hi, ranged := strings.Cut(bounds, "-")
	if stepped && !ranged {
		return r, fmt.Errorf("%q: a step goes with a range, as in 1-9/2", s)
	}
	if r.lo, err = parseOne(lo, most); err != nil {
		return r, err
	}
	r.hi, r.step = r.lo, 1
	if ranged {
		if r.hi, err = parseOne(hi, most); err != nil {
			return r, err
		}
	}
	if stepped {
		if r.step, err = parseOne(step, math.MaxUint32); err != nil {
			return r, err
		}
	}
	if r.hi < r.lo || r.step == 0 {
		return r, fmt.Errorf("%q has nothing in it", s)
	}
	return r, nil
}

func parseOne(s string, most uint32) (uint32, error) {
	s = strings.TrimSpace(s)
	base, digits := 10, s
	if hex, ok := strings.CutPrefix(strings.ToLower(s), "0x"); ok {
		base, digits = 16, hex
	}
	v, err := strconv.ParseUint(digits, base, 32)
	if err != nil || v > uint64(most) {
		return 0, fmt.Errorf("%q: want a number from 0 to %d, *, or several in brackets such as [1-5,8]", s, most)
	}
	return uint32(v), nil
}

// appendTo appends the canonical text of numbers up to most.
func (n numbers) appendTo(b []byte, most uint32) []byte {
	switch {
	case len(n) == 1 && n[0] == span{0, most, 1}:
		return append(b, '*')
	case len(n) == 1 && n[0].lo == n[0].hi:
		return strconv.AppendUint(b, uint64(n[0].lo), 10)
	}
	for i, s := range n {
		b = append(b, "[,"[min(i, 1)])
		b = strconv.AppendUint(b, uint64(s.lo), 10)
		if s.lo != s.hi {
			b = strconv.AppendUint(append(b, '-'), uint64(s.hi), 10)
		}
		if s.step != 1 {
			b = strconv.AppendUint(append(b, '/'), uint64(s.step), 10)
		}
	}
	return append(b, ']')
}
