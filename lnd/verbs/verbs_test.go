package verbs

import "testing"

// TestText: the numbers are those of libibverbs, because a provider passes them on unchanged.
func TestText(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Status(0).String(), "success"},
		{Status(5).String(), "flushed"},
		{Status(10).Error(), "remote access error"},
		{Status(12).String(), "transport retries exceeded"},
		{Status(13).String(), "RNR retries exceeded"},
		{Status(77).String(), "status 77"},
		{Send.String(), "SEND"},
		{Write.String(), "RDMA WRITE"},
		{Op(9).String(), "operation 9"},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
}
