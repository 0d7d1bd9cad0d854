package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"ulnet/portals/keyring"
)

// keyFile parses the path of a file of keys, relative to the folder of the configuration's file,
// and reads it. It sets *path to a path under which the file can be read again later.
func keyFile(path *string, keys *keyring.Keys, file string) setting {
	return text(new(string), func(s string) (err error) {
		if *path, *keys = "", (keyring.Keys{}); s == "" {
			return nil
		}
		*path = beside(file, s)
		*keys, err = ReadKeys(*path)
		return err
	})
}

// beside returns a path that a configuration file has, which is relative to the folder of that file.
func beside(file, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// pathOf parses the path of a file or folder, relative to the folder of the configuration's file. It sets *path to a
// path under which that can be read later.
func pathOf(path *string, file string) setting {
	return text(new(string), func(s string) error {
		if *path = s; s != "" {
			*path = beside(file, s)
		}
		return nil
	})
}

// ReadKeys reads a file of keys, which the key key_file of a section names.
func ReadKeys(path string) (keyring.Keys, error) {
	text, err := readSecret(path)
	if err != nil {
		return keyring.Keys{}, err
	}
	keys, err := keyring.Parse(text)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return keys, err
}

// ReadWholeKeys is ReadKeys for a file that another program may be writing. It refuses a file that is not whole, see
// readWhole: a key that is cut in the middle is a valid key, too.
func ReadWholeKeys(path string) (keyring.Keys, error) {
	keys, err := ReadKeys(path)
	if err == nil {
		err = wholeKeys(path, keys)
	}
	if err != nil {
		return keyring.Keys{}, err
	}
	return keys, nil
}

// wholeKeys refuses a file of keys that is not whole, or does not have the given keys.
func wholeKeys(path string, keys keyring.Keys) error {
	text, err := readWhole(path, maxSecret)
	if err != nil {
		return err
	}
	if now, err := keyring.Parse(text); err != nil || !now.Equal(keys) {
		return &Error{File: path, Err: errors.New("the file changes while it is read")}
	}
	return nil
}

// wholeKeys refuses files of keys as ReadWholeKeys does.
func (c *Config) wholeKeys() error {
	for _, f := range []struct {
		path string
		keys keyring.Keys
	}{
		{c.Gossip.KeyFile, c.Gossip.Keys},
		{c.Scoll.KeyFile, c.Scoll.Keys},
		{c.Rmcast.KeyFile, c.Rmcast.Keys},
		{c.Zone.KeyFile, c.Zone.Keys},
		{c.Health.KeyFile, c.Health.Keys},
		{c.Health.ClaimFile, c.Health.ClaimKeys},
	} {
		if f.path == "" {
			continue
		}
		if err := wholeKeys(f.path, f.keys); err != nil {
			return err
		}
	}
	return nil
}

// maxSecret bounds a file of keys in bytes.
const maxSecret = 4096

// readSecret reads a file of keys, or a file with a token. It must be a regular file that other users
// cannot read. Errors do not contain any of its text.
func readSecret(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // O_NONBLOCK: opening a pipe must not wait for a writer; pipes are refused below
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	case info.Mode().Perm()&0o007 != 0:
		return nil, fmt.Errorf("%s has mode %04o, so that others know the keys: 'chmod 600' keeps them to lnetd, and then change the keys", path, info.Mode().Perm())
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err == nil && len(text) > maxSecret {
		return nil, fmt.Errorf("%s has more than %d bytes", path, maxSecret)
	}
	return text, err
}
