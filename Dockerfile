# syntax=docker/dockerfile:1
# The image of taxon: one binary, the certificates it trusts, and a user without a name.

FROM rust:1.95.0-bookworm AS build
WORKDIR /src
COPY . .
# What was fetched and compiled stays for the next build. The line is the one of ./run.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --release --locked --package taxon \
    && install -D target/release/taxon /out/taxon

# The same release of Debian, since the binary uses its C library; its tag moves only with security fixes.
FROM debian:bookworm-slim
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/taxon /usr/local/bin/taxon
# A new volume takes over whose folder this is.
RUN install --directory --owner=10001 --group=10001 --mode=0700 /var/lib/taxon
ENV TAXON_LISTEN=0.0.0.0:8080 \
    TAXON_DATA_DIR=/var/lib/taxon
USER 10001:10001
WORKDIR /var/lib/taxon
VOLUME ["/var/lib/taxon"]
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["taxon", "health"]
ENTRYPOINT ["taxon"]
CMD ["serve"]
