"""What tests share: pages, servers, recordings, rule files. No test imports another test."""
