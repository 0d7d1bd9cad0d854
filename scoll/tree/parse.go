package tree

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxK is the largest K that [Parse] accepts.
const MaxK = 1 << 20

// Parse parses "k-nomial K", "binomial" (K 2), "k-ary K", or "flat".
func Parse(s string) (Topology, error) {
	kind, text, _ := strings.Cut(strings.TrimSpace(s), " ")
	k, err := strconv.Atoi(strings.TrimSpace(text))
	switch {
	case s == "binomial":
		return KNomial(2), nil
	case s == "flat":
		return KAry(MaxK), nil
	case err == nil && kind == "k-nomial" && k >= 2 && k <= MaxK:
		return KNomial(k), nil
	case err == nil && kind == "k-ary" && k >= 1 && k <= MaxK:
		return KAry(k), nil
	}
	return nil, fmt.Errorf("%q is no tree: want binomial, flat, k-nomial K with K from 2, or k-ary K with K from 1", s)
}
