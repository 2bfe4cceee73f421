// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // a client that asks for health by itself
	"google.golang.org/grpc/health/grpc_health_v1"
)

// A client with this is ready once Watch has said SERVING.
const healthConfig = `{"loadBalancingConfig": [{"round_robin": {}}], "healthCheckConfig": {"serviceName": ""}}`

// waitReady prints what the connection is, in the end.
func waitReady(conn *grpc.ClientConn) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn.Connect()
	state := conn.GetState()
	for state != connectivity.Ready && conn.WaitForStateChange(ctx, state) {
		state = conn.GetState()
	}
	fmt.Println(state)
}

// grpcWatch prints each status until the call ends, and how it does.
func grpcWatch(args []string) error {
	flags := flag.NewFlagSet("grpc-watch", flag.ContinueOnError)
	to := flags.String("to", "", "the server")
	service := flags.String("service", "", "the service asked for")
	if err := flags.Parse(args); err != nil || *to == "" {
		return errors.New("grpc-watch needs -to SERVER")
	}
	conn, err := grpc.NewClient(*to, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultServiceConfig(healthConfig))
	if err != nil {
		return err
	}
	defer conn.Close()
	waitReady(conn)
	stream, err := grpc_health_v1.NewHealthClient(conn).Watch(context.Background(), &grpc_health_v1.HealthCheckRequest{Service: *service})
	for err == nil {
		var got *grpc_health_v1.HealthCheckResponse
		if got, err = stream.Recv(); err == nil {
			fmt.Println(got.GetStatus())
		}
	}
	fmt.Println(describe(err))
	return nil
}
