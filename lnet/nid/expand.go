package nid

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
)

// errUnbounded says that a set names more NIDs than can be listed: a whole
// network, or every NID.
var errUnbounded = errors.New("names a whole network: list its NIDs, or ranges of them")

// Expand returns the NIDs of the set in the order of its text. A NID that the text names twice
// is in the result twice. There may be at most limit of them.
func (s Set) Expand(limit int) ([]NID, error) {
	if s.ranges == nil {
		return nil, errUnbounded
	}
	var ids []NID
	for i := range s.ranges {
		var err error
		if ids, err = s.ranges[i].expand(ids, limit); err != nil {
			return nil, fmt.Errorf("NIDs %q: %w", s.ranges[i].appendTo(nil), err)
		}
	}
	return ids, nil
}

func (r *setRange) expand(ids []NID, limit int) ([]NID, error) {
	if r.any {
		return nil, errUnbounded
	}
	if r.prefix.IsValid() {
		return expandPrefix(r.net, r.prefix, ids, limit)
	}
	count := 1
	for _, p := range r.parts {
		if count *= p.count(limit + 1); count > limit {
			break
		}
	}
	if len(ids)+count > limit {
		return nil, fmt.Errorf("more than %d NIDs", limit)
	}
	return expandParts(r.net, r.parts, 0, ids), nil
}

// expandParts appends one NID of net for each combination of the numbers in parts. The
// combination is the end of the NID's address; chosen has the octets before it.
func expandParts(net Net, parts []numbers, chosen uint32, ids []NID) []NID {
	if len(parts) == 0 {
		return append(ids, FromNumber(net, chosen))
	}
	for _, s := range parts[0] {
		for v := uint64(s.lo); v <= uint64(s.hi); v += uint64(s.step) {
			ids = expandParts(net, parts[1:], chosen<<8|uint32(v), ids)
		}
	}
	return ids
}

func expandPrefix(net Net, p netip.Prefix, ids []NID, limit int) ([]NID, error) {
	for a := p.Addr(); p.Contains(a); a = a.Next() {
		if len(ids) == limit {
			return nil, fmt.Errorf("more than %d NIDs", limit)
		}
		ids = append(ids, FromAddr(net, a))
	}
	return ids, nil
}

// count returns how many numbers n has, but no more than the limit most.
func (n numbers) count(most int) int {
	count := 0
	for _, s := range n {
		count += int((s.hi-s.lo)/s.step) + 1
		if count >= most {
			return most
		}
	}
	return count
}

// ExpandText expands the brackets in s, each pair of which encloses numbers and ranges, as in
// tcp[1-3] or 10.0.[0-1].[2-20/2,30]@o2ib (LNet config.c lnet_str2tbs_expand). It returns a
// text for each combination of numbers, the last brackets counting fastest. There may be at
// most limit texts.
func ExpandText(s string, limit int) ([]string, error) {
	texts := []string{""}
	for {
		start := strings.IndexByte(s, '[')
		if start < 0 {
			break
		}
		length := strings.IndexByte(s[start:], ']')
		if length < 0 {
			return nil, fmt.Errorf("%q: want ']'", s[start:])
		}
		n, err := parseNumbers(s[start:start+length+1], math.MaxUint32)
		if err != nil {
			return nil, err
		}
		if count := n.count(limit + 1); count > limit || count*len(texts) > limit {
			return nil, fmt.Errorf("more than %d", limit)
		}
		texts = multiply(texts, s[:start], n)
		s = s[start+length+1:]
	}
	for i := range texts {
		texts[i] += s
	}
	return texts, nil
}

// multiply returns a text for each combination of one of the given texts and a number of n,
// with text between the two.
func multiply(texts []string, text string, n numbers) []string {
	var longer []string
	for _, t := range texts {
		for _, s := range n {
			for v := uint64(s.lo); v <= uint64(s.hi); v += uint64(s.step) {
				longer = append(longer, t+text+strconv.FormatUint(v, 10))
			}
		}
	}
	return longer
}
