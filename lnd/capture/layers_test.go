package capture_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"

	"ulnet/lnd/capture"
)

// TestLayers decodes the records of captures with gopacket.
func TestLayers(t *testing.T) {
	want := map[string][]string{
		"tcp-discover-multi.pcap": {
			"LNetAcceptor", "LNetHello", "LNetHello", "Ksock LNet", "LNetAcceptor", "LNetHello", "LNetHello", "LNetAcceptor",
			"Ksock LNet LNetPingInfo", "LNetHello", "LNetHello", "Ksock LNet", "Ksock LNet LNetPingInfo", "Ksock LNet LNetPingInfo",
			"Ksock LNet", "Ksock LNet LNetPingInfo", "Ksock LNet",
		},
		"tcp6-ping-discover.pcap": {
			"LNetAcceptor", "LNetHello", "LNetHello", "KsockLarge LNetLarge", "LNetAcceptor", "LNetHello", "LNetHello",
			"KsockLarge LNetLarge LNetPingInfo", "LNetAcceptor", "LNetHello", "LNetHello", "KsockLarge LNetLarge", "KsockLarge LNetLarge LNetPingInfo",
		},
		"tcp-proto-v1-passive.pcap": {
			"LNetAcceptor", "LNetHello", "LNetHello", "LNetAcceptor", "LNetHello", "LNetHello", "LNet", "LNetAcceptor", "LNetHello", "LNetHello",
		},
	}
	for file, want := range want {
		var got []string
		decodeFile(t, "testdata/"+file, func(r *capture.Record) {
			if r.Layer() == gopacket.LayerTypeZero {
				return
			}
			p := gopacket.NewPacket(r.Raw, r.Layer(), gopacket.Default)
			var names []string
			for _, l := range p.Layers() {
				names = append(names, l.LayerType().String())
			}
			got = append(got, strings.Join(names, " "))
		})
		if diff := cmp.Diff(want, got[:min(len(got), len(want))]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

func TestLayersTogether(t *testing.T) {
	tests := []struct {
		name string
		data []byte
		from gopacket.LayerType
		want string
	}{
		{"request to message", join(request, hello, ping), capture.LayerTypeAcceptor, "LNetAcceptor LNetHello Ksock LNet"},
		{"payload", put, capture.LayerTypeKsock, "Ksock LNet Payload"},
		{"NOOP", keepalive, capture.LayerTypeKsock, "Ksock"},
		{"big-endian NOOP", unhex("000000c0 00000000 0000000000000000 0000000000000001"), capture.LayerTypeKsock, "Ksock"},
		{"cut", ping[:60], capture.LayerTypeKsock, "Ksock DecodeFailure"},
		{"of another type", patch(ping, 0, "c2"), capture.LayerTypeKsock, "DecodeFailure"},
		{"payload of 4 GiB", patch(put, 52, "ffffffff"), capture.LayerTypeKsock, "Ksock DecodeFailure"},
		{"not a request", ping, capture.LayerTypeAcceptor, "DecodeFailure"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := gopacket.NewPacket(tt.data, tt.from, gopacket.Default)
			var names []string
			for _, l := range p.Layers() {
				names = append(names, l.LayerType().String())
			}
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("layers %q, want %q", got, tt.want)
			}
			if cut := tt.name == "cut"; p.Metadata().Truncated != cut {
				t.Errorf("truncated: %v", p.Metadata().Truncated)
			}
		})
	}
}
