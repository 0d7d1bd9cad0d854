package nid

import (
	"errors"
	"fmt"
	"net/netip"
)

// errUnbounded says that a set names more NIDs than can be listed: a whole
// network, or every NID.
var errUnbounded = errors.New("names a whole network: list its NIDs, or ranges of them")

// Expand returns the NIDs of the set in the order of its text; what stands
// there twice comes twice. There may be at most limit of them.
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

// expandParts appends the NIDs whose number begins with what was chosen for
// the parts before these.
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

// count is how many numbers there are, or at least most.
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
