package capture_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"

	"ulnet/lnd/capture"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

// TestLayers: gopacket decodes the bytes of each record (Raw) into the expected layers, if it begins with
// the layer that Record.Layer names.
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

// TestLayerValues: each type of layer has the value that Layer.Value promises.
func TestLayerValues(t *testing.T) {
	want := map[gopacket.LayerType]any{
		capture.LayerTypeDatagram: nil, capture.LayerTypeAcceptor: &wire.AcceptorRequest{}, capture.LayerTypeHello: &ksock.Hello{},
		capture.LayerTypeKsock: &ksock.MsgHeader{}, capture.LayerTypeKsockLarge: &ksock.MsgHeader{},
		capture.LayerTypeLNet: &wire.Header{}, capture.LayerTypeLNetLarge: &wire.Header{}, capture.LayerTypePingInfo: &wire.PingInfo{},
	}
	seen := map[gopacket.LayerType]bool{}
	look := func(r *capture.Record) {
		for _, l := range gopacket.NewPacket(r.Raw, r.Layer(), gopacket.Default).Layers() {
			ours, ok := l.(*capture.Layer)
			if !ok {
				continue
			}
			seen[l.LayerType()] = true
			if got, want := reflect.TypeOf(ours.Value), reflect.TypeOf(want[l.LayerType()]); got != want {
				t.Errorf("%v has a value of type %v, want %v", l.LayerType(), got, want)
			}
		}
	}
	decodeFile(t, "testdata/tcp-discover-multi.pcap", look)
	decodeFile(t, "testdata/tcp6-ping-discover.pcap", look)
	datagrams, _ := dissect(t, writeDatagrams(t), capture.Options{})
	for _, r := range datagrams {
		look(r)
	}
	for l := range want {
		if !seen[l] {
			t.Errorf("no layer is %v: the test shows nothing of it", l)
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
