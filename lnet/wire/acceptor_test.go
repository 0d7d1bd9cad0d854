package wire

import (
	"bytes"
	"errors"
	"testing"

	"ulnet/lnet/nid"
)

func TestAcceptorRequest(t *testing.T) {
	small, large := nid.MustParse("10.0.0.2@tcp"), nid.MustParse("2001:db8::2@tcp1")
	tests := []struct {
		name   string
		r      AcceptorRequest
		fields []field
	}{
		{"v1", AcceptorRequest{Version: 1, NID: small}, []field{
			{0, "acr_magic", "00 71 CE AC"},
			{4, "acr_version", "01 00 00 00"},
			{8, "acr_nid", "02 00 00 0A 00 00 02 00"},
		}},
		{"v1 big-endian", AcceptorRequest{Version: 1, NID: small, BigEndian: true}, []field{
			{0, "acr_magic", "AC CE 71 00"},
			{4, "acr_version", "00 00 00 01"},
			{8, "acr_nid", "00 02 00 00 0A 00 00 02"},
		}},
		{"v2", AcceptorRequest{Version: 2, NID: large}, []field{
			{0, "acr_magic", "00 71 CE AC"},
			{4, "acr_version", "02 00 00 00"},
			{8, "acr_nid", "0C 02 00 01 20 01 0D B8 00 00 00 00 00 00 00 00 00 00 00 02"},
		}},
		{"v2 big-endian", AcceptorRequest{Version: 2, NID: large, BigEndian: true}, []field{
			{0, "acr_magic", "AC CE 71 00"},
			{4, "acr_version", "00 00 00 02"},
			{8, "acr_nid", "0C 02 00 01 20 01 0D B8 00 00 00 00 00 00 00 00 00 00 00 02"},
		}},
		{"v2 with a small NID", AcceptorRequest{Version: 2, NID: small}, []field{
			{0, "acr_magic", "00 71 CE AC"},
			{4, "acr_version", "02 00 00 00"},
			{8, "acr_nid", "00 02 00 00 0A 00 00 02 00*12"},
		}},
		{"refusal", AcceptorRefusal(), []field{
			{0, "acr_magic", "00 71 CE AC"},
			{4, "acr_version", "01 00 00 00"},
			{8, "acr_nid", "00*8"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkGolden(t, tt.r, tt.fields, AcceptorRequest.AppendBinary, ParseAcceptorRequest)
		})
	}
}

func TestNewAcceptorRequest(t *testing.T) {
	for text, want := range map[string]uint32{
		"10.0.0.2@tcp": AcceptorVersion1, "2001:db8::2@tcp1": AcceptorVersion2,
	} {
		n := nid.MustParse(text)
		if got := NewAcceptorRequest(n); got.Version != want || got.NID != n || got.BigEndian {
			t.Errorf("request for %s: %v", text, got)
		}
	}
}

func TestAcceptorAppendErrors(t *testing.T) {
	large := nid.MustParse("2001:db8::2@tcp")
	tests := []struct {
		name string
		r    AcceptorRequest
		want error
	}{
		{"large NID in v1", AcceptorRequest{Version: 1, NID: large}, ErrLargeNID},
		{"no version", AcceptorRequest{NID: nid.Lo0()}, ErrVersion},
		{"version 3", AcceptorRequest{Version: 3, NID: large}, ErrVersion},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if b, err := tt.r.AppendBinary([]byte{1}); !errors.Is(err, tt.want) || !bytes.Equal(b, []byte{1}) {
				t.Errorf("% x, %v, want %v", b, err, tt.want)
			}
		})
	}
}

// TestAcceptorRequestSize feeds requests byte by byte, as a reader may get them, and checks
// the result after each byte.
func TestAcceptorRequestSize(t *testing.T) {
	tests := []struct {
		name  string
		hex   string
		size  int
		err   error
		known int // bytes after which the size or error is known
	}{
		{"v1", "00 71 CE AC 01 00 00 00", AcceptorV1Size, nil, 8},
		{"v1 big-endian", "AC CE 71 00 00 00 00 01", AcceptorV1Size, nil, 8},
		{"v2", "00 71 CE AC 02 00 00 00", AcceptorV2Size, nil, 8},
		{"v2 big-endian", "AC CE 71 00 00 00 00 02", AcceptorV2Size, nil, 8},
		{"version 0", "00 71 CE AC 00 00 00 00", 0, ErrVersion, 8},
		{"version 7", "00 71 CE AC 07 00 00 00", 0, ErrVersion, 8},
		{"version in the wrong order", "00 71 CE AC 00 00 00 01", 0, ErrVersion, 8},
		{"http", "47 45 54 20 2F 20 48 54", 0, ErrMagic, 4},
		{"zeros", "00*8", 0, ErrMagic, 4},
		{"old magic", "ED 0D BC EE 01 00 00 00", 0, ErrMagic, 4},
		{"generic magic", "63 69 72 45 03 00 00 00", 0, ErrGenericMagic, 4},
		{"generic magic big-endian", "45 72 69 63 00 00 00 03", 0, ErrGenericMagic, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := unhex(t, tt.hex)
			for n := range len(b) + 1 {
				size, err := AcceptorRequestSize(b[:n])
				if n < tt.known {
					if size != AcceptorPrefixSize || err != nil {
						t.Errorf("%d bytes: %d, %v", n, size, err)
					}
					continue
				}
				if size != tt.size || err != tt.err {
					t.Errorf("%d bytes: %d, %v, want %d, %v", n, size, err, tt.size, tt.err)
				}
				if _, _, err := ParseAcceptorRequest(b[:n]); tt.err != nil && err != tt.err {
					t.Errorf("parsing %d bytes: %v, want %v", n, err, tt.err)
				}
			}
		})
	}
	if !errors.Is(ErrGenericMagic, ErrMagic) {
		t.Error("ErrGenericMagic is no ErrMagic")
	}
}

func TestAcceptorBadNID(t *testing.T) {
	b := unhex(t, "00 71 CE AC 02 00 00 00 0D 02 00*18")
	if r, rest, err := ParseAcceptorRequest(b); !errors.Is(err, nid.ErrSize) || len(rest) != len(b) {
		t.Errorf("17 address bytes: %v, %v", r, err)
	}
}

func FuzzParseAcceptorRequest(f *testing.F) {
	for _, name := range []string{
		"acceptor-v1", "acceptor-v2", "acceptor-refusal", "acceptor-wrong-magic",
		"acceptor-wrong-version", "acceptor-cut", "acceptor-swapped",
	} {
		f.Add(readHex(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, rest, err := ParseAcceptorRequest(b)
		if err != nil {
			if len(rest) != len(b) || r != (AcceptorRequest{}) {
				t.Fatalf("%v with an error and %d of %d bytes left", r, len(rest), len(b))
			}
			return
		}
		again, err := r.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if back, _, err := ParseAcceptorRequest(again); err != nil || back != r || len(again) != len(b)-len(rest) {
			t.Fatalf("%v comes back as %v, %v", r, back, err)
		}
	})
}
