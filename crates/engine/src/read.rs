//! The one entry: facts in, either what is still lacking or the answer out. The scene is read once per call.

use crate::adjudicate::{self, Reading};
use crate::answer;
use crate::classification::Classification;
use crate::evm::scene::EvmScene;
use crate::facts::Facts;
use crate::knowledge::Knowledge;
use crate::needs::Need;
use crate::question::Question;
use crate::rules::Rules;
use crate::scene::{Scene, WalletNotInTransaction};
use crate::solana::scene::SolanaScene;
use crate::{belief, evm, solana, sources};

/// What to do about facts that the question needs and that are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// They are named, and the caller fetches them and reads again.
    Ask,
    /// The answer is given without them: there is no node to ask, or all were asked.
    Accept,
}

#[derive(Debug, Clone)]
pub enum Read {
    /// Never empty.
    Needs(Vec<Need>),
    Done(Box<Classification>),
}

impl Read {
    /// The answer, where there is one: always with `Missing::Accept`.
    pub fn done(self) -> Option<Classification> {
        match self {
            Self::Needs(_) => None,
            Self::Done(answer) => Some(*answer),
        }
    }
}

/// Same facts, same question and same knowledge give the same bytes.
pub fn read(
    facts: &Facts,
    question: &Question,
    knowledge: &Knowledge,
    missing: Missing,
) -> Result<Read, WalletNotInTransaction> {
    let rules = &knowledge.rules;
    let scene = FamilyScene::read(facts, question, rules)?;
    if missing == Missing::Ask {
        let needs = scene.needs();
        if !needs.is_empty() {
            return Ok(Read::Needs(needs));
        }
    }
    let reading = scene.adjudicate(question, rules);
    if missing == Missing::Ask {
        let mut proofs = belief::needs(scene.common(), &reading.claims);
        if reading.needs_review {
            proofs.extend(scene.questions());
        }
        if !proofs.is_empty() {
            return Ok(Read::Needs(proofs));
        }
    }
    Ok(Read::Done(Box::new(answer::answer(scene.common(), &reading, question, knowledge))))
}

/// The scene with what only its family has, and the sources that can read it.
pub(crate) enum FamilyScene<'a> {
    Evm(EvmScene<'a>),
    Solana(SolanaScene<'a>),
}

impl<'a> FamilyScene<'a> {
    pub(crate) fn read(
        facts: &'a Facts,
        question: &Question,
        rules: &'a Rules,
    ) -> Result<Self, WalletNotInTransaction> {
        match facts {
            Facts::Evm(facts) => evm::scene::read(facts, question, rules).map(Self::Evm),
            Facts::Solana(facts) => solana::scene::read(facts, question, rules).map(Self::Solana),
        }
    }

    pub(crate) fn common(&self) -> &Scene<'a> {
        match self {
            Self::Evm(scene) => scene,
            Self::Solana(scene) => scene,
        }
    }

    fn needs(&self) -> Vec<Need> {
        match self {
            Self::Evm(scene) => evm::needs::needs(scene),
            Self::Solana(scene) => solana::needs::needs(scene),
        }
    }

    /// What contracts can be asked that might vouch for those that nobody lists.
    fn questions(&self) -> Vec<Need> {
        match self {
            Self::Evm(scene) => evm::needs::questions(scene),
            Self::Solana(_) => Vec::new(),
        }
    }

    /// Every source gives its opinions, and they are decided into one reading.
    pub(crate) fn adjudicate(&self, question: &Question, rules: &Rules) -> Reading {
        let common = self.common();
        match self {
            Self::Evm(scene) => {
                let reading = adjudicate::adjudicate(common, sources::opine(scene, rules), question);
                let called = || sources::protocol::called(scene, rules);
                reading.name_protocol(called, || sources::protocol::named(scene, rules))
            }
            Self::Solana(scene) => {
                let reading = adjudicate::adjudicate(common, solana::opine::opine(scene, rules), question);
                let called = || solana::opine::called(scene, rules);
                reading.name_protocol(called, || solana::opine::named(scene, rules))
            }
        }
    }
}
