package fault

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ulnet/lnet/nid"
)

// Partition is sets of NIDs that do not reach each other. The NIDs that are in
// none of the sets form a set of their own. A NID that is in several sets
// belongs to the first of them. The zero value separates no nodes.
type Partition struct{ sets []nid.Set }

// ParsePartition parses sets of NIDs with | between them, such as
//
//	10.0.0.[1-5]@tcp | 10.0.0.[6-9]@tcp 10.0.1.*@tcp
func ParsePartition(text string) (Partition, error) {
	if len(text) > maxRule {
		return Partition{}, fmt.Errorf("partition of more than %d bytes", maxRule)
	}
	var p Partition
	for part := range strings.SplitSeq(text, "|") {
		if strings.TrimSpace(part) == "" {
			return Partition{}, errors.New("a part without NIDs: name some, such as 10.0.0.[1-5]@tcp")
		}
		set, err := nid.ParseSet(part)
		if err != nil {
			return Partition{}, err
		}
		if set.IsAll() {
			return Partition{}, errors.New("\"all\" is no part: name NIDs, such as 10.0.0.[1-5]@tcp")
		}
		p.sets = append(p.sets, set)
	}
	return p, nil
}

// String returns the text that [ParsePartition] takes, empty for none.
func (p Partition) String() string {
	texts := make([]string, len(p.sets))
	for i, s := range p.sets {
		texts[i] = s.String()
	}
	return strings.Join(texts, " | ")
}

// separates reports whether nothing passes from a to b.
func (p *Partition) separates(a, b nid.NID) bool {
	return len(p.sets) > 0 && a != b && p.side(a) != p.side(b)
}

// side is the number of the set that has id.
func (p *Partition) side(id nid.NID) int {
	return slices.IndexFunc(p.sets, func(s nid.Set) bool { return s.Has(id) })
}
