// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"os"
)

// tlsFiles are a peer's options -cert, -key and -ca. A server speaks TLS when it has a certificate, and asks for its
// clients' when it has a CA; a client speaks TLS when it has a CA, and shows a certificate when it has one.
type tlsFiles struct{ cert, key, ca string }

func (t *tlsFiles) register(flags *flag.FlagSet) {
	flags.StringVar(&t.cert, "cert", "", "own certificate")
	flags.StringVar(&t.key, "key", "", "its key")
	flags.StringVar(&t.ca, "ca", "", "trust who this signed")
}

func (t *tlsFiles) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.cert != "" {
		pair, err := tls.LoadX509KeyPair(t.cert, t.key)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{pair}
		// A client shows it also to a server that names other authorities.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	if t.ca != "" {
		text, err := os.ReadFile(t.ca)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return nil, errors.New(t.ca + " holds no certificate")
		}
		c.RootCAs, c.ClientCAs, c.ClientAuth = pool, pool, tls.RequireAndVerifyClientCert
	}
	return c, nil
}

// forClient is nil for clear text, as forServer is.
func (t *tlsFiles) forClient() (*tls.Config, error) {
	if t.ca == "" {
		return nil, nil
	}
	return t.config()
}

func (t *tlsFiles) forServer() (*tls.Config, error) {
	if t.cert == "" {
		return nil, nil
	}
	return t.config()
}
