//! Asks a server's reflection service, v1, for a service and everything it imports.

use std::collections::BTreeSet;

use prost::Message;
use prost_reflect::DescriptorPool;
use prost_types::FileDescriptorProto;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint, Uri};
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1::{ServerReflectionRequest, ServerReflectionResponse};
use tower::service_fn;

use crate::error::chain;
use crate::wire::Dialer;

/// More files than any service has; a server that names new imports without end
/// is not followed.
const MAX_FILES: usize = 10_000;

pub(super) async fn pool(dialer: &Dialer, service: &str) -> Result<DescriptorPool, String> {
    let mut talk = Talk::start(dialer).await?;
    let mut files = talk.ask(MessageRequest::FileContainingSymbol(service.to_owned())).await?;
    while let Some(name) = missing(&files) {
        if files.len() > MAX_FILES {
            return Err(format!("it has more than {MAX_FILES} files"));
        }
        files.extend(talk.ask(MessageRequest::FileByFilename(name)).await?);
    }
    let mut pool = DescriptorPool::new();
    pool.add_file_descriptor_protos(files).map_err(|why| why.to_string())?;
    Ok(pool)
}

/// A file that is imported and was not sent.
fn missing(files: &[FileDescriptorProto]) -> Option<String> {
    let have: BTreeSet<&str> = files.iter().map(FileDescriptorProto::name).collect();
    let mut wanted = files.iter().flat_map(|file| &file.dependency);
    wanted.find(|name| !have.contains(name.as_str())).cloned()
}

/// One reflection stream: a question, its answer, the next question.
struct Talk {
    questions: mpsc::Sender<ServerReflectionRequest>,
    answers: Streaming<ServerReflectionResponse>,
}

impl Talk {
    async fn start(dialer: &Dialer) -> Result<Self, String> {
        let mut client = ServerReflectionClient::new(channel(dialer).await?);
        let (questions, asked) = mpsc::channel(1);
        let stream = client.server_reflection_info(ReceiverStream::new(asked)).await;
        let answers = stream.map_err(|status| said(&status))?.into_inner();
        Ok(Self { questions, answers })
    }

    async fn ask(&mut self, what: MessageRequest) -> Result<Vec<FileDescriptorProto>, String> {
        let request = ServerReflectionRequest { host: String::new(), message_request: Some(what) };
        self.questions.send(request).await.map_err(|_| "it ended the stream")?;
        let answer = self.answers.message().await.map_err(|status| said(&status))?;
        match answer.and_then(|answer| answer.message_response) {
            Some(MessageResponse::FileDescriptorResponse(files)) => {
                decoded(files.file_descriptor_proto)
            }
            Some(MessageResponse::ErrorResponse(error)) => Err(error.error_message),
            _ => Err("it gave no answer".to_owned()),
        }
    }
}

fn decoded(files: Vec<Vec<u8>>) -> Result<Vec<FileDescriptorProto>, String> {
    if files.is_empty() {
        return Err("it sent no file".to_owned());
    }
    let decode = |file: Vec<u8>| FileDescriptorProto::decode(file.as_slice());
    files.into_iter().map(decode).collect::<Result<_, _>>().map_err(|why| why.to_string())
}

/// A channel over our own connections, which know of TLS.
async fn channel(dialer: &Dialer) -> Result<Channel, String> {
    let dialer = dialer.clone();
    let connector = service_fn(move |_: Uri| {
        let dialer = dialer.clone();
        async move { dialer.dial().await.map_err(|broken| std::io::Error::other(broken.why)) }
    });
    let endpoint = Endpoint::from_static("http://reflection");
    endpoint.connect_with_connector(connector).await.map_err(|error| chain(&error))
}

fn said(status: &tonic::Status) -> String {
    format!("{:?} {}", status.code(), status.message()).trim_end().to_owned()
}
