package wire

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnet/nid"
)

func up(s string) NIStatus { return NIStatus{nid.MustParse(s), StatusUp} }

// fieldsOfHeader are the fields of a ping info before its further entries.
func fieldsOfHeader(features, entries, sequence, size string) []field {
	return []field{
		{0, "pi_magic", "67 6E 69 70"},
		{4, "pi_features", features},
		{8, "pi_pid", "39 30 00 00"},
		{12, "pi_nnis", entries},
		{16, "pi_ni[0].ns_nid", "00 00 00 00 00 00 09 00"},
		{24, "pi_ni[0].ns_status", sequence},
		{28, "pi_ni[0].ns_msg_size", size},
	}
}

const (
	commonFeatures = FeatureNIStatus | FeatureRoutingDisabled | FeatureMultiRail | FeatureDiscovery
	fd2            = "0C 02 00 01 20 01 0D B8 00 00 00 00 00 00 00 00 00 00 00 02"
)

var pingInfos = []struct {
	name   string
	p      PingInfo
	fields []field
}{
	{
		"one NI",
		PingInfo{Features: commonFeatures, PID: 12345, Sequence: 1, NIs: []NIStatus{up("10.0.0.2@tcp")}},
		append(fieldsOfHeader("1E 00 00 00", "02 00 00 00", "01 00 00 00", "00 00 00 00"),
			field{32, "pi_ni[1].ns_nid", "02 00 00 0A 00 00 02 00"},
			field{40, "pi_ni[1].ns_status", "DE C0 AA 15"},
			field{44, "pi_ni[1].ns_msg_size", "00 00 00 00"}),
	},
	{
		"no NI",
		PingInfo{Features: FeatureNIStatus, PID: 12345, Sequence: 0x01020304, NIs: []NIStatus{}},
		fieldsOfHeader("02 00 00 00", "01 00 00 00", "04 03 02 01", "00 00 00 00"),
	},
	{
		"ipv6 only",
		PingInfo{
			Features: commonFeatures | FeatureLargeAddr | FeaturePrimaryLarge, PID: 12345, Sequence: 3,
			NIs: []NIStatus{up("2001:db8::2@tcp1")},
		},
		append(fieldsOfHeader("7E 00 00 00", "01 00 00 00", "03 00 00 00", "38 00 00 00"),
			field{32, "ns_status", "DE C0 AA 15"},
			field{36, "ns_nid", fd2}),
	},
	{
		"ipv4 first",
		PingInfo{
			Features: commonFeatures | FeatureLargeAddr, PID: 12345, Sequence: 3,
			NIs: []NIStatus{{nid.MustParse("10.0.0.2@tcp"), StatusDown}, up("2001:db8::2@tcp1")},
		},
		append(fieldsOfHeader("3E 00 00 00", "02 00 00 00", "03 00 00 00", "48 00 00 00"),
			field{32, "pi_ni[1].ns_nid", "02 00 00 0A 00 00 02 00"},
			field{40, "pi_ni[1].ns_status", "CE FA AD DE"},
			field{44, "pi_ni[1].ns_msg_size", "00 00 00 00"},
			field{48, "ns_status", "DE C0 AA 15"},
			field{52, "ns_nid", fd2}),
	},
	{
		"ipv6 first",
		PingInfo{
			Features: commonFeatures | FeatureLargeAddr | FeaturePrimaryLarge, PID: 12345, Sequence: 3,
			NIs: []NIStatus{up("2001:db8::2@tcp1"), up("10.0.0.2@tcp")},
		},
		append(fieldsOfHeader("7E 00 00 00", "02 00 00 00", "03 00 00 00", "48 00 00 00"),
			field{32, "pi_ni[1].ns_nid", "02 00 00 0A 00 00 02 00"},
			field{40, "pi_ni[1].ns_status", "DE C0 AA 15"},
			field{44, "pi_ni[1].ns_msg_size", "00 00 00 00"},
			field{48, "ns_status", "DE C0 AA 15"},
			field{52, "ns_nid", fd2}),
	},
	{
		"big-endian",
		PingInfo{
			Features: commonFeatures | FeatureLargeAddr, PID: 12345, Sequence: 3, BigEndian: true,
			NIs: []NIStatus{up("10.0.0.2@tcp"), up("2001:db8::2@tcp1")},
		},
		[]field{
			{0, "pi_magic", "70 69 6E 67"},
			{4, "pi_features", "00 00 00 3E"},
			{8, "pi_pid", "00 00 30 39"},
			{12, "pi_nnis", "00 00 00 02"},
			{16, "pi_ni[0].ns_nid", "00 09 00 00 00 00 00 00"},
			{24, "pi_ni[0].ns_status", "00 00 00 03"},
			{28, "pi_ni[0].ns_msg_size", "00 00 00 48"},
			{32, "pi_ni[1].ns_nid", "00 02 00 00 0A 00 00 02"},
			{40, "pi_ni[1].ns_status", "15 AA C0 DE"},
			{44, "pi_ni[1].ns_msg_size", "00 00 00 00"},
			{48, "ns_status", "15 AA C0 DE"},
			{52, "ns_nid", fd2},
		},
	},
}

func TestPingInfo(t *testing.T) {
	for _, tt := range pingInfos {
		t.Run(tt.name, func(t *testing.T) {
			checkGolden(t, tt.p, tt.fields, PingInfo.AppendBinary, ParsePingInfo)
			if got, want := tt.p.Size(), len(join(t, tt.fields)); got != want {
				t.Errorf("Size = %d, want %d", got, want)
			}
		})
	}
}

// TestPingFeatureBits checks that the bits which describe the layout follow from the NIs,
// whichever of them the caller or an earlier sender has set.
func TestPingFeatureBits(t *testing.T) {
	small, large := up("10.0.0.2@tcp"), up("2001:db8::2@tcp")
	derived := FeatureLargeAddr | FeaturePrimaryLarge | FeatureMetadata
	tests := []struct {
		name string
		nis  []NIStatus
		want Features
	}{
		{"none", nil, 0},
		{"small", []NIStatus{small}, 0},
		{"large", []NIStatus{large}, FeatureLargeAddr | FeaturePrimaryLarge},
		{"small, large", []NIStatus{small, large}, FeatureLargeAddr},
		{"large, small", []NIStatus{large, small}, FeatureLargeAddr | FeaturePrimaryLarge},
	}
	for _, tt := range tests {
		for _, set := range []Features{0, derived} {
			b, err := PingInfo{Features: 0x100 | FeatureNIStatus | set, NIs: tt.nis}.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			p, _, err := ParsePingInfo(b)
			if want := 0x100 | FeatureNIStatus | tt.want; err != nil || p.Features != want {
				t.Errorf("%s: features %v, %v, want %v", tt.name, p.Features, err, want)
			}
		}
	}
}

func TestPingAppendErrors(t *testing.T) {
	tests := []struct {
		name string
		nis  []NIStatus
		want error
	}{
		{"wildcard", []NIStatus{{NID: nid.Any()}}, errAnyNID},
		{"too many", make([]NIStatus, maxPingNIs+1), ErrNICount},
		{"most", make([]NIStatus, maxPingNIs), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := PingInfo{Features: FeatureNIStatus, NIs: tt.nis}.AppendBinary([]byte{1})
			if !errors.Is(err, tt.want) || (err != nil && !slices.Equal(b, []byte{1})) {
				t.Fatalf("%d bytes, %v, want %v", len(b), err, tt.want)
			}
			if err != nil {
				return
			}
			if p, _, err := ParsePingInfo(b[1:]); err != nil || len(p.NIs) != len(tt.nis) {
				t.Errorf("%d NIs, %v", len(p.NIs), err)
			}
		})
	}
}

func TestPingRefusals(t *testing.T) {
	good, err := PingInfo{Features: FeatureNIStatus, NIs: []NIStatus{up("10.0.0.2@tcp")}}.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		off  int
		hex  string
		want error
	}{
		{"magic", 0, "67 6E 69 71", ErrMagic},
		{"no NI_STATUS", 4, "01 00 00 00", ErrNIStatus},
		{"no entry", 12, "00 00 00 00", ErrNICount},
		{"too many entries", 12, "02 10 00 00", ErrNICount},
		{"4 G entries", 12, "FF FF FF FF", ErrNICount},
		{"lo is not first", 16, "02 00 00 0A 00 00 02 00", ErrNoLo},
		{"lo with a number", 16, "00 00 00 00 01 00 09 00", ErrNoLo},
		{"size beyond a message", 4, "22 00 00 00 39 30 00 00 02 00 00 00 00 00 00 00 00 00 09 00 01 00 00 00 04 00 10 00", errPingSize},
		{"size of 4 GiB", 4, "22 00 00 00 39 30 00 00 02 00 00 00 00 00 00 00 00 00 09 00 01 00 00 00 FF FF FF FF", errPingSize},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := slices.Clone(good)
			copy(b[tt.off:], unhex(t, tt.hex))
			p, rest, err := ParsePingInfo(b)
			if !errors.Is(err, tt.want) || len(rest) != len(b) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			if diff := cmp.Diff(PingInfo{}, p, equal); diff != "" {
				t.Errorf("result with an error (-want +got)\n%s", diff)
			}
		})
	}
}

func TestStatusString(t *testing.T) {
	for s, want := range map[Status]string{
		StatusUp: "up", StatusDown: "down", StatusInvalid: "invalid", 7: "0x7",
	} {
		if s.String() != want {
			t.Errorf("status %#x prints %q, want %q", uint32(s), s, want)
		}
	}
}

func TestPingInfoSize(t *testing.T) {
	if got := PingInfoSize(MinPingEntries); got != 272 { // the size that kernels use before they know more
		t.Errorf("size of %d entries is %d, want 272", MinPingEntries, got)
	}
}
