package wire

import "testing"

func TestFeatures(t *testing.T) {
	tests := []struct {
		features Features
		want     string
	}{
		{0, "0x0"},
		{0x02, "NI_STATUS"},
		{0x06, "NI_STATUS|RTE_DISABLED"},
		{0x1E, "NI_STATUS|RTE_DISABLED|MULTI_RAIL|DISCOVERY"},
		{0xFF, "BASE|NI_STATUS|RTE_DISABLED|MULTI_RAIL|DISCOVERY|LARGE_ADDR|PRIMARY_LARGE|METADATA"},
		{0x102, "NI_STATUS|0x100"},
		{0x80000000, "0x80000000"},
	}
	for _, tt := range tests {
		if got := tt.features.String(); got != tt.want {
			t.Errorf("%#x prints %q, want %q", uint32(tt.features), got, tt.want)
		}
	}
	f := FeatureNIStatus | FeatureDiscovery
	if !f.Has(FeatureDiscovery) || !f.Has(f) || f.Has(f|FeatureMultiRail) || !f.Has(0) {
		t.Error("Has is wrong")
	}
}
