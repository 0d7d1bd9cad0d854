package bugreport

import (
	"encoding/json"
	"strings"
	"testing"

	"ulnet/lnd/lndtest/spec"
)

// TestCleanText: a secret is taken out if it follows a name such as token, or if it stands in a URL or in a header.
// The rest of the text stays.
func TestCleanText(t *testing.T) {
	spec.Covers(t, "OP-45")
	var c cleaner
	c.environment([]string{"CAPTURE_TOKEN=environ-secret", "HOME=/root", "EMPTY_TOKEN="})
	c.file([]byte("first-key-of-file\n\n  second \"key\" of file  \n"))
	c.setting("handlers.mail.run", "[/bin/mail, --header, Authorization-x, --to=somebody]")
	c.setting("page.token", "page-secret")
	for text, want := range map[string]string{
		"level=info msg=ready token=abcdef n=3":                                  "level=info msg=ready token=[redacted] n=3",
		"Authorization: Bearer abc.def":                                          "Authorization: [redacted]",
		"curl -H 'Authorization: Basic Zm9v' x":                                  "curl -H 'Authorization: [redacted]' x",
		"lnetd --metrics-token hunter2 --config /etc/x":                          "lnetd --metrics-token [redacted] --config /etc/x",
		"https://user:pass@host/path?x=1":                                        "https://[redacted]host/path?x=1",
		`{"api_key": "abc", "n": 1`:                                              `{"api_key": "[redacted]", "n": 1`,
		"-----BEGIN PRIVATE KEY-----\nMII\n":                                     "-----BEGIN PRIVATE KEY-----[redacted]",
		"it says environ-secret and first-key-of-file.":                          "it says [redacted] and [redacted].",
		`the second "key" of file, in JSON second \"key\" of file`:               "the [redacted], in JSON [redacted]",
		"10.0.0.1@tcp: 8 credits, key_file: /etc/ulnet/key":                      "10.0.0.1@tcp: 8 credits, key_file: /etc/ulnet/key",
		"it says Authorization-x, somebody, page-secret, /bin/mail and --header": "it says [redacted], [redacted], [redacted], /bin/mail and --header",
		`level=WARN msg="handler failed" exit=1 output="> A: \"b\"\nc" n=2`:      `level=WARN msg="handler failed" exit=1 output=[redacted] n=2`,
		`level=WARN msg="handler failed" output=word n=2`:                        `level=WARN msg="handler failed" output=[redacted] n=2`,
		`{"msg":"handler failed","output":"> A: \"b\"","n":2}`:                   `{"msg":"handler failed","output":[redacted],"n":2}`,
		`{"msg":"handler failed","output":"cut`:                                  `{"msg":"handler failed","output":[redacted]`,
		"/root":                                                                  "/root",
	} {
		if got := string(c.text([]byte(text))); got != want {
			t.Errorf("%q becomes\n%q, want\n%q", text, got, want)
		}
	}
}

// TestCleanJSON: the values of fields that have secrets are taken out, whatever their types, and the
// result is valid JSON with everything else.
func TestCleanJSON(t *testing.T) {
	spec.Covers(t, "OP-45")
	const text = `[{"key": "gossip.key_file", "value": "/etc/key", "from": "lnetd.yaml:3"},
		{"key": "handlers.mail.run", "value": "[/bin/mail, s3cret-1]", "next": "[/bin/mail, s3cret-2]"},
		{"key": "scoll.admin.actions.x.run", "value": "[/bin/x, s3cret-3]"},
		{"key": "page.token", "value": "s3cret-4", "next": null},
		{"session": {"key": 123456789012345678, "name": "n"}, "keys": 2, "claim_keys": 0, "connect_keys": 1, "accessKey": 234567890, "token": ["s3cret-5"], "password": {"x": "s3cret-9"}, "hosts": {"key": "rack", "value": "kept"}},
		{"run": ["/bin/sh", "-c", "s3cret-6"], "last": {"output": "s3cret-7", "exit": 1}},
		{"text": "msg token=s3cret-8, more", "big": 18446744073709551615}]`
	var c cleaner
	got := c.json([]byte(text))
	if !json.Valid(got) {
		t.Fatalf("no JSON:\n%s", got)
	}
	for _, kept := range []string{"/etc/key", "lnetd.yaml:3", "/bin/sh", `"keys": 2`, `"claim_keys": 0`, `"connect_keys": 1`, `"name": "n"`, `"exit": 1`, "more", "18446744073709551615", "kept", `"next": null`} {
		if !strings.Contains(string(got), kept) {
			t.Errorf("%s is gone:\n%s", kept, got)
		}
	}
	for _, secret := range []string{"s3cret-1", "s3cret-2", "s3cret-3", "s3cret-4", "s3cret-5", "s3cret-9", "s3cret-6", "s3cret-7", "s3cret-8", "123456789012345678", "234567890"} {
		if strings.Contains(string(got), secret) {
			t.Errorf("%s is there:\n%s", secret, got)
		}
	}
}

// FuzzClean: a known secret is in no result, whatever stands around it, and JSON stays JSON.
func FuzzClean(f *testing.F) {
	f.Add([]byte(`{"token": ["known-secret"], "x": "known-secret"}`))
	f.Add([]byte("Authorization: known-secret\nknown-secret"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var c cleaner
		c.learn("known-secret")
		for _, got := range [][]byte{c.text(text), c.json(text)} {
			if strings.Contains(string(got), "known-secret") {
				t.Errorf("%q", got)
			}
		}
		if json.Valid(text) && !json.Valid(c.json(text)) {
			t.Errorf("%q becomes %q", text, c.json(text))
		}
	})
}
