package wire_test

import (
	"testing"

	"ulnet/lnet/wire"
)

func TestFeatures(t *testing.T) {
	tests := []struct {
		features wire.Features
		want     string
	}{
		{0, "0x0"},
		{wire.FeatureNIStatus, "NI_STATUS"},
		{wire.FeatureNIStatus | wire.FeatureRoutingDisabled, "NI_STATUS|RTE_DISABLED"},
		{wire.FeatureNIStatus | wire.FeatureRoutingDisabled | wire.FeatureMultiRail | wire.FeatureDiscovery, "NI_STATUS|RTE_DISABLED|MULTI_RAIL|DISCOVERY"},
		{wire.FeatureBase | wire.FeatureLargeAddr | wire.FeaturePrimaryLarge | wire.FeatureMetadata, "BASE|LARGE_ADDR|PRIMARY_LARGE|METADATA"},
		{0xFF, "BASE|NI_STATUS|RTE_DISABLED|MULTI_RAIL|DISCOVERY|LARGE_ADDR|PRIMARY_LARGE|METADATA"},
		{0x102, "NI_STATUS|0x100"},
		{0x80000000, "0x80000000"},
	}
	for _, tt := range tests {
		if got := tt.features.String(); got != tt.want {
			t.Errorf("%#x prints %q, want %q", uint32(tt.features), got, tt.want)
		}
	}
	f := wire.FeatureNIStatus | wire.FeatureDiscovery
	if !f.Has(wire.FeatureDiscovery) || !f.Has(f) || f.Has(f|wire.FeatureMultiRail) || !f.Has(0) {
		t.Error("Has is wrong")
	}
}
