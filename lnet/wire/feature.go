package wire

import (
	"fmt"
	"strings"
)

// Features are the feature bits of a node's ping info (LNET_PING_FEAT_*).
// Unknown bits are kept.
type Features uint32

// Feature bits of a ping info.
const (
	FeatureBase            Features = 1 << 0 // set by nodes that know no other feature
	FeatureNIStatus        Features = 1 << 1 // the statuses of NIs are valid; required
	FeatureRoutingDisabled Features = 1 << 2 // the node is not a router
	FeatureMultiRail       Features = 1 << 3
	FeatureDiscovery       Features = 1 << 4
	FeatureLargeAddr       Features = 1 << 5 // entries for large NIDs follow
	FeaturePrimaryLarge    Features = 1 << 6 // the first large entry is the primary NID
	FeatureMetadata        Features = 1 << 7 // data of the network drivers follows
)

var featureNames = [...]string{
	"BASE", "NI_STATUS", "RTE_DISABLED", "MULTI_RAIL",
	"DISCOVERY", "LARGE_ADDR", "PRIMARY_LARGE", "METADATA",
}

// Has reports whether all bits of g are set.
func (f Features) Has(g Features) bool { return f&g == g }

// String returns the names of the bits, as "NI_STATUS|RTE_DISABLED", and
// unknown bits as a number.
func (f Features) String() string {
	var parts []string
	for i, name := range featureNames {
		if f&(1<<i) != 0 {
			parts = append(parts, name)
		}
	}
	if unknown := f >> len(featureNames) << len(featureNames); unknown != 0 || f == 0 {
		parts = append(parts, fmt.Sprintf("%#x", uint32(unknown)))
	}
	return strings.Join(parts, "|")
}
