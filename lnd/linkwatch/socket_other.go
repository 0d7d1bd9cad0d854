//go:build !linux

package linkwatch

import "errors"

func listen() (source, error) { return nil, errors.ErrUnsupported }
